/**
 * Indents JSON without reading it as numbers and strings: every character that is not white space between tokens stays as
 * it is stored, so that 12345678901234567890 is shown as such. What is no JSON comes back as it is.
 */
export function indent(json: string): string {
  if (!isJson(json)) return json
  const lines: string[] = []
  let line = ''
  let depth = 0
  const end = (): void => {
    lines.push(line)
    line = '  '.repeat(depth)
  }
  const tokens = json.match(/"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g) ?? []
  tokens.forEach((token, i) => {
    const next = tokens[i + 1]
    if (token === '{' || token === '[') {
      line += token
      if (next === '}' || next === ']') return
      depth += 1
      end()
    } else if (token === '}' || token === ']') {
      const isEmpty = tokens[i - 1] === '{' || tokens[i - 1] === '['
      if (!isEmpty) {
        depth = Math.max(0, depth - 1)
        end()
      }
      line += token
    } else if (token === ',') {
      line += token
      end()
    } else line += token === ':' ? ': ' : token
  })
  lines.push(line)
  return lines.join('\n')
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
