/**
 * Metrics as Prometheus reads them: version 0.0.4 of its text format, which every collector understands.
 *
 *   # HELP name what it is
 *   # TYPE name counter
 *   name{label="value"} 42
 */
import type { MetricFamily, MetricLabels, MetricSample } from './families.ts'

export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

export function metricsText(families: readonly MetricFamily[]): string {
  return families.map(familyText).join('')
}

function familyText({ name, kind, help, samples }: MetricFamily): string {
  const lines = samples.flatMap((sample) => sampleLines(name, sample))
  return `# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${kind}\n${lines.join('\n')}\n`
}

function sampleLines(name: string, { labels, value, sum, buckets }: MetricSample): readonly string[] {
  if (buckets === undefined) return [line(name, labels, value)]
  return [
    ...buckets.map(({ le, count }) => line(`${name}_bucket`, { ...labels, le: numberText(le) }, count)),
    line(`${name}_sum`, labels, sum ?? 0),
    line(`${name}_count`, labels, value),
  ]
}

/** An empty label is none. */
function line(name: string, labels: MetricLabels, value: number): string {
  const shown = Object.entries(labels).filter(([, text]) => text !== '')
  const list = shown.map(([label, text]) => `${label}="${escapeLabel(text)}"`).join(',')
  return `${name}${list === '' ? '' : `{${list}}`} ${numberText(value)}`
}

function numberText(value: number): string {
  if (Number.isFinite(value)) return String(value)
  return value > 0 ? '+Inf' : value < 0 ? '-Inf' : 'NaN'
}

function escapeHelp(text: string): string {
  return text.replaceAll('\\', String.raw`\\`).replaceAll('\n', String.raw`\n`)
}

function escapeLabel(text: string): string {
  return escapeHelp(text).replaceAll('"', String.raw`\"`)
}
