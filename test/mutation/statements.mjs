// Where SQL stands in TypeScript: the texts of a file that read like a statement, or like a part of one.
const TAG = /\bsql$/
const STATEMENT =
  /\b(select|insert (or \w+ )?into|delete from|where|order by|returning|group by|union all|values)\b|\bupdate \w+( \w+)* set\b/i

/** A test of offsets in the source. */
export function statementsIn(source) {
  const spans = textsOf(source).filter(
    ({ isTagged, start, end }) => isTagged || STATEMENT.test(source.slice(start, end)),
  )
  return (offset) => spans.some(({ start, end }) => start <= offset && offset < end)
}

/**
 * The texts between quotes, each with its place; of a template the parts between its holes, tagged if the whole is.
 * Enough of the grammar for sources without quotes in their regular expressions.
 */
function textsOf(source) {
  const texts = []
  const templates = []
  let at = 0
  const skipTo = (end, from) => {
    const found = source.indexOf(end, from)
    at = found === -1 ? source.length : found + end.length
  }
  const readTemplate = (isTagged) => {
    const start = at
    while (at < source.length && source[at] !== '`' && !source.startsWith('${', at))
      at += source[at] === '\\' ? 2 : 1
    texts.push({ start, end: at, isTagged })
    if (source[at] === '`') at += 1
    else {
      at += 2
      templates.push({ isTagged, depth: 0 })
    }
  }
  while (at < source.length) {
    const sign = source[at]
    const hole = templates.at(-1)
    if (source.startsWith('//', at)) skipTo('\n', at)
    else if (source.startsWith('/*', at)) skipTo('*/', at + 2)
    else if (sign === '`') {
      const isTagged = TAG.test(source.slice(0, at))
      at += 1
      readTemplate(isTagged)
    } else if (sign === "'" || sign === '"') {
      const start = at + 1
      for (at = start; at < source.length && source[at] !== sign; at += 1) if (source[at] === '\\') at += 1
      texts.push({ start, end: at, isTagged: false })
      at += 1
    } else if (sign === '}' && hole?.depth === 0) {
      templates.pop()
      at += 1
      readTemplate(hole.isTagged)
    } else {
      if (hole !== undefined && (sign === '{' || sign === '}')) hole.depth += sign === '{' ? 1 : -1
      at += 1
    }
  }
  return texts
}
