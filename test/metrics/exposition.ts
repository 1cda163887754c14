/**
 * Reads the text format of Prometheus (0.0.4) and refuses what a collector would refuse, or what says something else than it
 * seems: written from the format's description, not from our writer.
 */
export type Read = {
  readonly types: ReadonlyMap<string, string>
  /** By name and labels, as `name{a="1",b="2"}` with labels in order. */
  readonly values: ReadonlyMap<string, number>
  readonly samples: readonly ReadSample[]
}

export type ReadSample = {
  readonly name: string
  readonly family: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)/y

export function readExposition(text: string): Read {
  if (!text.endsWith('\n')) throw new Error('the last line does not end')
  const types = new Map<string, string>()
  const helps = new Set<string>()
  const values = new Map<string, number>()
  const samples: ReadSample[] = []
  let family = ''
  for (const line of text.slice(0, -1).split('\n')) {
    const help = /^# HELP (\S+) (.+)$/.exec(line)?.[1]
    if (help !== undefined) {
      if (helps.has(help)) throw new Error(`${help} is told twice`)
      helps.add(help)
      continue
    }
    const type = /^# TYPE (\S+) (counter|gauge|histogram)$/.exec(line)
    if (type !== null) {
      family = type[1] ?? ''
      if (types.has(family)) throw new Error(`${family} stands in two places`)
      types.set(family, type[2] ?? '')
      continue
    }
    const sample = readSample(line, family, types.get(family))
    const key = keyOf(sample.name, sample.labels)
    if (values.has(key)) throw new Error(`${key} is there twice`)
    values.set(key, sample.value)
    samples.push(sample)
  }
  for (const name of types.keys()) if (!helps.has(name)) throw new Error(`${name} has no help`)
  checkHistograms(types, samples)
  return { types, values, samples }
}

function readSample(line: string, family: string, kind: string | undefined): ReadSample {
  const [, name = '', list = '', text = ''] = SAMPLE.exec(line) ?? []
  const parts = kind === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']
  if (!parts.some((part) => name === family + part)) throw new Error(`${line} is not of ${family}`)
  if (kind === 'counter' && !name.endsWith('_total')) throw new Error(`the counter ${name} lacks _total`)
  const value = text === '+Inf' ? Infinity : Number(text)
  if (text === '' || Number.isNaN(value)) throw new Error(`${line} has no value`)
  return { name, family, labels: readLabels(list, line), value }
}

function readLabels(list: string, line: string): Record<string, string> {
  const labels: Record<string, string> = {}
  LABEL.lastIndex = 0
  while (LABEL.lastIndex < list.length) {
    const [, label = '', raw = ''] = LABEL.exec(list) ?? []
    if (label === '' || label in labels) throw new Error(`the labels of ${line} cannot be read`)
    labels[label] = raw.replace(/\\(.)/g, (_, char: string) => (char === 'n' ? '\n' : char))
  }
  return labels
}

export function keyOf(name: string, labels: Readonly<Record<string, string>>): string {
  const list = Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `${name}{${list.map(([label, value]) => `${label}=${JSON.stringify(value)}`).join(',')}}`
}

/** Buckets only grow, the last one takes all, and the count is what it holds. */
function checkHistograms(types: ReadonlyMap<string, string>, samples: readonly ReadSample[]): void {
  for (const [family, kind] of types) {
    if (kind !== 'histogram') continue
    const groups = new Map<string, ReadSample[]>()
    for (const sample of samples.filter(({ name }) => name === `${family}_bucket`)) {
      const { le: _, ...labels } = sample.labels
      const key = keyOf(family, labels)
      groups.set(key, [...(groups.get(key) ?? []), sample])
    }
    for (const [key, buckets] of groups) {
      const bounds = buckets.map(({ labels }) => (labels.le === '+Inf' ? Infinity : Number(labels.le)))
      const isGrowing = buckets.every(
        ({ value }, i) =>
          i === 0 ||
          (value >= (buckets[i - 1]?.value ?? 0) && (bounds[i] ?? 0) > (bounds[i - 1] ?? Infinity)),
      )
      const { le: _, ...labels } = buckets[0]?.labels ?? {}
      const count = samples.find(
        ({ name, labels: its }) => name === `${family}_count` && keyOf(family, its) === keyOf(family, labels),
      )
      if (!isGrowing || bounds.at(-1) !== Infinity || buckets.at(-1)?.value !== count?.value)
        throw new Error(`the buckets of ${key} are wrong`)
    }
  }
}
