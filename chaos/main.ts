/** The command: `npm run chaos -- --engine redis --minutes 5`. Exit code 0: clean, 1: a promise broke, 2: bad options. */
import { parseArgs } from 'node:util'
import { ENGINE_NAMES, type EngineName } from './engines/engine.ts'
import { renderFindings, renderSummary } from './report.ts'
import { Interrupted, removeLogs, run } from './run.ts'

const HELP = `Real processes, a real store, and everything that can happen to them; then an audit of what they wrote down.

  npm run chaos -- --engine redis|cluster|postgres|mysql|file [--minutes 2] [--seed 4711] [--rate 150] [--json] [--keep]

  --engine   redis, postgres, mysql: a server of its own, behind proxies. cluster: three masters. file: one directory, shared.
  --minutes  how long the storm lasts; a calm follows. From 5 on, growth of memory and handles is judged too.
  --seed     repeats the plan of the faults and of the load. Times are real, so the history differs all the same.
  --rate     messages per second, all producers together.
  --json     the summary as JSON, the last line of stdout; progress goes to stderr.
  --keep     keeps the logs of a clean run; those of a failed one are kept anyway.
`
const MINUTES_MAX = 24 * 60
const RATE_MAX = 2_000
const INTERRUPTED = 130

export async function main(args: readonly string[]): Promise<number> {
  const options = parseOptions(args)
  if (options === 'help') {
    process.stdout.write(HELP)
    return 0
  }
  if (typeof options === 'string') {
    process.stderr.write(`${options}\n\n${HELP}`)
    return 2
  }
  const ending = new AbortController()
  const interrupt = (): void => ending.abort()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, interrupt)
  try {
    return await perform(options, ending.signal)
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error
    process.stderr.write('interrupted: its processes were ended, nothing was audited\n')
    return INTERRUPTED
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, interrupt)
  }
}

type Options = {
  readonly engine: EngineName
  readonly minutes: number
  readonly seed: number
  readonly rate: number
  readonly isJson: boolean
  readonly isKept: boolean
}

async function perform(options: Options, ended: AbortSignal): Promise<number> {
  const { isJson, isKept, seed, engine } = options
  const say = (text: string): void => void (isJson ? process.stderr : process.stdout).write(`${text}\n`)
  say(`${engine}, ${options.minutes} minutes, ${options.rate} messages/s, seed ${seed}`)
  const { summary, findings, lines, directory } = await run({ ...options, say, ended })
  if (findings.length > 0) {
    say(renderFindings(findings, lines))
    say(`the logs are in ${directory}`)
  } else if (isKept) say(`the logs are in ${directory}`)
  else removeLogs(directory)
  process.stdout.write(`${isJson ? JSON.stringify(summary) : renderSummary(summary)}\n`)
  return findings.length === 0 ? 0 : 1
}

/** A text when they make no sense, or when only help is wanted. */
function parseOptions(args: readonly string[]): Options | string {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        engine: { type: 'string' },
        minutes: { type: 'string', default: '2' },
        seed: { type: 'string' },
        rate: { type: 'string', default: '150' },
        json: { type: 'boolean', default: false },
        keep: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    })
    if (values.help) return 'help'
    const engine = ENGINE_NAMES.find((name) => name === values.engine)
    const minutes = Number(values.minutes)
    const seed = values.seed === undefined ? Math.floor(Math.random() * 1_000_000) : Number(values.seed)
    const rate = Number(values.rate)
    if (engine === undefined)
      return `--engine is ${values.engine === undefined ? 'missing' : `"${values.engine}"`}; give ${ENGINE_NAMES.join(', ')}.`
    if (!(minutes > 0 && minutes <= MINUTES_MAX))
      return `--minutes is "${values.minutes}"; give a number above 0, at most ${MINUTES_MAX}.`
    if (!Number.isSafeInteger(seed) || seed < 0)
      return `--seed is "${values.seed}"; give a whole number from 0 on.`
    if (!(rate >= 1 && rate <= RATE_MAX)) return `--rate is "${values.rate}"; give 1 to ${RATE_MAX}.`
    return { engine, minutes, seed, rate, isJson: values.json, isKept: values.keep }
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
