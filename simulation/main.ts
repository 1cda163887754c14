/**
 * The command:
 *
 *   npm run simulate -- --seeds 1000 --from 1     many seeds, one after the other
 *   npm run simulate -- --seed 4711 --trace       one seed, with its history
 *
 * (`--mutants` is in scripts/simulate.mjs: each of them needs a build of its own.)
 */
import { parseArgs } from 'node:util'
import { formatTime } from './judges/history.ts'
import { simulate, type Simulation } from './simulate.ts'
import { addTally, faultsIn, newTally } from './judges/tally.ts'

const HISTORY_LINES = 200

export async function main(args: readonly string[]): Promise<number> {
  const options = parseOptions(args)
  if (options === undefined) {
    say('usage: npm run simulate -- [--seeds 1000] [--from 1] | --seed 4711 [--trace] | --mutants [words]')
    return 2
  }
  const { seed, from, seeds, trace, brief } = options
  return seed === undefined ? runMany(from, seeds, brief) : showOne(seed, trace)
}

type Options = {
  readonly seeds: number
  readonly from: number
  readonly seed: number | undefined
  readonly trace: boolean
  /** One line per failure, for the mutants. */
  readonly brief: boolean
}

/** Undefined when they make no sense: a run of no seeds must not look like a clean one. */
function parseOptions(args: readonly string[]): Options | undefined {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        seeds: { type: 'string', default: '1000' },
        from: { type: 'string', default: '1' },
        seed: { type: 'string' },
        trace: { type: 'boolean', default: false },
        brief: { type: 'boolean', default: false },
      },
    })
    const { trace, brief } = values
    const seed = values.seed === undefined ? undefined : Number(values.seed)
    const options = { seeds: Number(values.seeds), from: Number(values.from), seed, trace, brief }
    const isSound = [options.from, seed ?? 0].every((value) => Number.isSafeInteger(value) && value >= 0)
    return isSound && Number.isSafeInteger(options.seeds) && options.seeds > 0 ? options : undefined
  } catch {
    return undefined
  }
}

async function showOne(seed: number, withTrace: boolean): Promise<number> {
  const result = await simulate(seed, true)
  const { lines, hash } = result.history
  if (withTrace) say(lines.join('\n'))
  say(`seed ${seed}: ${lines.length} lines, sha256 ${hash}`)
  return judge(result, withTrace ? [] : lines)
}

async function runMany(from: number, seeds: number, isBrief: boolean): Promise<number> {
  const sum = newTally()
  const beganAt = performance.now()
  let elapsedMs = 0
  let events = 0
  for (let seed = from; seed < from + seeds; seed += 1) {
    const result = await simulate(seed)
    addTally(sum, result.tally)
    elapsedMs += result.elapsedMs
    events += result.events
    if (isBrief && result.violations.length > 0) return judgeBriefly(result)
    if (result.violations.length > 0) return judge(result, (await simulate(seed, true)).history.lines)
  }
  const realS = (performance.now() - beganAt) / 1_000
  say(`${seeds} seeds from ${from}: no promise broken`)
  say(
    `simulated ${formatTime(elapsedMs)} in ${realS.toFixed(1)} s: ${events} events, ${faultsIn(sum)} faults`,
  )
  say(
    Object.entries(sum)
      .map(([name, count]) => `${name} ${count}`)
      .join(', '),
  )
  return 0
}

function judge({ seed, violations }: Simulation, lines: readonly string[]): number {
  if (violations.length === 0) return 0
  const concerned = lines.filter((line) => concerns(line, violations))
  if (concerned.length > HISTORY_LINES) say('...')
  say(concerned.slice(-HISTORY_LINES).join('\n'))
  say(`seed ${seed} breaks promises:`)
  for (const violation of violations.slice(0, 10)) say(`  ${violation}`)
  say(`again: npm run simulate -- --seed ${seed} --trace`)
  return 1
}

function judgeBriefly({ seed, violations }: Simulation): number {
  say(`seed ${seed}: ${violations[0]}`)
  return 1
}

/** The lines about what the violations name: a message, a process. Claims that came to nothing are left out. */
function concerns(line: string, violations: readonly string[]): boolean {
  if (/^\S+ \S+ +\S+ +(claim|extend) /.test(line)) return false
  if (/^\S+ \S+ +(VIOLATION|weather|store) /.test(line)) return true
  const named = violations
    .flatMap((violation) => violation.split(/[ ",;:]+/))
    .filter((word) => /\d|^own/.test(word))
  return named.some((word) => word.length > 3 && line.includes(word))
}

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}
