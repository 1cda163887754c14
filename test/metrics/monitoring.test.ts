/** The files in docs/monitoring name metrics and labels that exist, and the guide lists every metric. */
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { METRICS, type MetricName, type MetricSpec } from '../../src/core/metrics/catalogue.ts'
import { COMMANDS } from '../../src/doors/cli/commands.ts'

const DOCS = resolve(import.meta.dirname, '../../docs')
const read = (path: string): string => readFileSync(join(DOCS, path), 'utf8')

type Rule = { alert: string; expr: string; for: string; annotations: Record<string, string> }
type Panel = { title: string; targets: { expr: string; legendFormat: string }[] }

const RULES = (parse(read('monitoring/alerts.yml')) as { groups: { rules: Rule[] }[] }).groups.flatMap(
  ({ rules }) => rules,
)
const DASHBOARD = JSON.parse(read('monitoring/grafana.json')) as {
  panels: Panel[]
  templating: { list: { name: string; query: string }[] }
}

/** Prometheus' own metric, which tells whether a process answers at all. */
const UP = /\bup\{job="([^"]*)"\}/

const EXPRESSIONS: [string, string][] = [
  ...RULES.filter(({ expr }) => !UP.test(expr)).map(({ alert, expr }): [string, string] => [alert, expr]),
  ...DASHBOARD.panels.flatMap(({ title, targets }) =>
    targets.map(({ expr }): [string, string] => [title, expr]),
  ),
]

/** Of a histogram the parts are asked for, and never the whole. */
function specOf(name: string): MetricSpec | undefined {
  const part = /^(.*)_(?:bucket|sum|count)$/.exec(name)?.[1]
  const spec: MetricSpec | undefined = METRICS[(part ?? name) as MetricName]
  return spec !== undefined && (spec.kind === 'histogram') === (part !== undefined) ? spec : undefined
}

it('names follow OpenMetrics: counters end in _total, units are base units', () => {
  for (const [name, { kind, labels }] of Object.entries<MetricSpec>(METRICS)) {
    expect(name.endsWith('_total'), name).toBe(kind === 'counter')
    expect(name, name).toMatch(/^punctual_(?:build|queue|process|http)_[a-z_]+$/)
    expect(name, name).not.toMatch(/_(?:ms|millis|milliseconds|minutes|hours|count|sum|bucket)(?:_total)?$/)
    if (kind === 'histogram') expect(name).toMatch(/_seconds$/)
    if (/^punctual_(?:queue|process)_/.test(name)) expect(labels[0], name).toBe('queue')
  }
})

describe.each(EXPRESSIONS)('%s', (_title, expr) => {
  it('asks for metrics and labels that exist', () => {
    const names = expr.match(/punctual_\w+/g) ?? []
    expect(names.length).toBeGreaterThan(0)
    for (const name of names) expect(specOf(name), name).toBeDefined()
    for (const [, name = '', matchers = ''] of expr.matchAll(/(punctual_\w+)\{([^}]*)\}/g))
      for (const [, label] of matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g))
        expect(specOf(name)?.labels, `${label} of ${name}`).toContain(label)
    const known = new Set([...names.flatMap((name) => specOf(name)?.labels ?? []), 'le'])
    for (const [, list = ''] of expr.matchAll(/\bby \(([^)]*)\)/g))
      for (const label of list.split(',').map((word) => word.trim())) expect([...known]).toContain(label)
  })

  it('is a rate of a counter, and never of a gauge; its brackets close', () => {
    for (const name of expr.match(/punctual_\w+/g) ?? []) {
      const isCounter = specOf(name)?.kind !== 'gauge'
      const isRated = new RegExp(`rate\\(${name}(?:\\{[^}]*\\})?\\[`).test(expr)
      expect(isRated, name).toBe(isCounter)
    }
    for (const pair of ['()', '{}', '[]'])
      expect(expr.split(pair[0] ?? '').length).toBe(expr.split(pair[1] ?? '').length)
  })
})

it('every alert has a time, says what is wrong and what to do, with commands that exist', () => {
  expect(new Set(RULES.map(({ alert }) => alert)).size).toBe(RULES.length)
  for (const { alert, for: time, annotations } of RULES) {
    expect(time, alert).toMatch(/^\d+m$/)
    expect(Object.keys(annotations)).toEqual(['summary', 'action'])
    for (const [, command] of Object.values(annotations)
      .join(' ')
      .matchAll(/"punctual (\w+)/g))
      expect(Object.keys(COMMANDS)).toContain(command)
  }
})

it('labels that a legend or a summary shows are those that are left', () => {
  const shown: [string, string][] = [
    ...DASHBOARD.panels.flatMap(({ targets }) =>
      targets.map(({ expr, legendFormat }): [string, string] => [expr, legendFormat]),
    ),
    ...RULES.map(({ expr, annotations }): [string, string] => [expr, annotations.summary ?? '']),
  ]
  for (const [expr, text] of shown)
    for (const [, label = ''] of text.matchAll(/\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}/g))
      expect(expr).toMatch(new RegExp(`\\bby \\([^)]*\\b${label}\\b`))
})

it('one alert fires where no figures come at all, of the job that prometheus.yml scrapes', () => {
  const jobs = RULES.flatMap(({ expr }) => UP.exec(expr)?.[1] ?? [])
  const { scrape_configs: scraped } = parse(read('monitoring/prometheus.yml')) as {
    scrape_configs: { job_name: string }[]
  }
  expect(jobs).toEqual(scraped.map(({ job_name: name }) => name))
})

it('the dashboard offers every queue', () => {
  expect(DASHBOARD.templating.list.map(({ name }) => name)).toEqual(['datasource', 'queue'])
  expect(DASHBOARD.templating.list[1]?.query).toBe('label_values(punctual_queue_up, queue)')
})

it('the guide lists every metric with its kind and its labels, and none that does not exist', () => {
  const listed = [
    ...read('guides/monitoring.md').matchAll(/^\| `(punctual_\w+)` +\| (\w+) +\| (.*?) *\|/gm),
  ].map(([, name, kind, labels]) => `${name} ${kind} ${(labels?.match(/\w+/g) ?? []).join(' ')}`)
  const metrics = Object.entries<MetricSpec>(METRICS).map(
    ([name, { kind, labels }]) => `${name} ${kind} ${labels.filter((label) => label !== 'queue').join(' ')}`,
  )
  expect(listed.toSorted()).toEqual(metrics.toSorted())
})
