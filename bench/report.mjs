// Figures as people read them: medians with their spread, as a Markdown table.
const round = (value) =>
  Math.abs(value) >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(value < 10 ? 2 : 1)

export function figuresOf(figures) {
  return Object.entries(figures)
    .map(([name, value]) => `${name} ${round(value)}`)
    .join(', ')
}

export function median(values) {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)]
}

/** One row per contestant: each figure's median, and from where to where it went. */
export function medianRows(results) {
  const rows = new Map()
  for (const { name, figures, failure } of results) {
    const row = rows.get(name) ?? { name, runs: [], failures: 0 }
    rows.set(name, row)
    if (failure === undefined) row.runs.push(figures)
    else row.failures += 1
  }
  return [...rows.values()].map(({ name, runs, failures }) => {
    const figures = {}
    for (const key of Object.keys(runs[0] ?? {})) {
      const values = runs.map((run) => run[key])
      figures[key] = { median: median(values), from: Math.min(...values), to: Math.max(...values) }
    }
    return { name, figures, failures }
  })
}

function cell(figure) {
  if (figure === undefined) return ''
  return figure.from === figure.to
    ? round(figure.median)
    : `${round(figure.median)} (${round(figure.from)}–${round(figure.to)})`
}

export function table(rows) {
  const columns = [...new Set(rows.flatMap(({ figures }) => Object.keys(figures)))]
  const lines = [
    `| | ${columns.join(' | ')} |`,
    `|---|${columns.map(() => '---:|').join('')}`,
    ...rows.map(({ name, figures, failures }) => {
      const note = failures === 0 ? '' : ` (${failures} failed)`
      return `| ${name}${note} | ${columns.map((column) => cell(figures[column])).join(' | ')} |`
    }),
  ]
  return `${lines.join('\n')}\n`
}
