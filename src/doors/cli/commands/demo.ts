import { sleep } from '../../../clock.ts'
import { parseDuration } from '../../../core/input/duration.ts'
import type { Punctual } from '../../../index.ts'
import { systemRandom } from '../../../random.ts'
import { DEFAULT_QUEUE } from '../../../queue/settings.ts'
import { untilSignalled } from '../../../queue/signals.ts'
import { exampleServerUrl } from '../../../store/engines.ts'
import { defineCommand, type Call, type OptionSpecs } from '../command.ts'
import { CrashingCrew } from '../demo/crash.ts'
import { openDashboard } from '../demo/dashboard.ts'
import { planMessages } from '../demo/plan.ts'
import { showFor, type Show } from '../demo/show.ts'
import { Tally } from '../demo/tally.ts'
import { judge, renderVerdict } from '../demo/verdict.ts'
import { DEMO_SETTINGS, workHere, type Report } from '../demo/worker.ts'
import { EXIT, type ExitCode } from '../../shared/failure.ts'
import { formatCount, plural } from '../terminal/format.ts'
import { allPages } from '../../shared/pages.ts'
import { parseWholeNumber } from '../values.ts'

const COUNT_DEFAULT = '300'
const SPAN_DEFAULT = '20s'
/** It takes a moment to open a browser. */
const SPAN_SHOWN = '1m'
const LOOK_EVERY_MS = 500

const OPTIONS = {
  crash: {
    type: 'boolean',
    help: 'kill the worker with SIGKILL in the middle, and see its messages recovered',
  },
  count: {
    type: 'string',
    value: 'N',
    help: `how many messages at moments left to chance; default ${COUNT_DEFAULT}`,
  },
  span: {
    type: 'string',
    value: 'DURATION',
    help: `within how much time they are due; default ${SPAN_DEFAULT}`,
  },
  fresh: { type: 'boolean', help: 'forget what an earlier demo left behind' },
  ui: {
    type: 'boolean',
    help: `show the dashboard in a browser too, for this machine alone; the span is then ${SPAN_SHOWN} unless told`,
  },
} as const satisfies OptionSpecs

type DemoCall = Call<typeof OPTIONS>

export const demo = defineCommand({
  name: 'demo',
  summary: 'see messages arrive on time; pull the plug; see nothing lost',
  operands: '',
  arity: [0, 0],
  options: OPTIONS,
  examples: [
    ['punctual demo', 'press Ctrl-C in the middle, and run it again'],
    ['punctual demo --crash', 'its worker is killed; another one takes over'],
    ['punctual demo --ui', 'and its dashboard at the address that it prints'],
    [`punctual demo --count 5000 --span 1m --store ${exampleServerUrl()}`, 'more, and on a server'],
  ],
  notes: [
    'Uses a queue of its own, "demo", unless --queue names one. Ends by itself; without a terminal in plain lines.',
  ],
  makesStore: true,
  run: async (call) => {
    const queueName = call.queueName === DEFAULT_QUEUE ? 'demo' : call.queueName
    const queue = call.open({ queue: queueName, ...DEMO_SETTINGS })
    const { tally, greeting } = await prepare(call, queue)
    const where = `${call.storeName}, queue "${queueName}"`
    const dashboard = call.values.ui === true ? await openDashboard(call, queueName) : undefined
    const show = showFor({ out: call.out, tally, where, json: call.json })
    for (const line of greeting) show.note(line)
    if (dashboard !== undefined) show.note(`The dashboard: ${dashboard.address}`)
    try {
      await performOn(call, { queue, queueName, tally, show })
      const code = await conclude(call, tally, queueName)
      await dashboard?.untilSignalled()
      return code
    } finally {
      await dashboard?.close()
    }
  },
})

/** What an earlier run left is all there is to do; only an empty queue gets new messages. */
async function prepare(call: DemoCall, queue: Punctual): Promise<{ tally: Tally; greeting: string[] }> {
  const count = parseWholeNumber(call.values.count ?? COUNT_DEFAULT, '--count', { min: 0, max: 10_000 - 5 })
  const spanDefault = call.values.ui === true ? SPAN_SHOWN : SPAN_DEFAULT
  const spanMs = parseDuration(call.values.span ?? spanDefault, '--span', { min: 1, max: 3_600_000 })
  if (call.values.fresh === true) {
    for (const state of ['delayed', 'ready', 'dead'] as const) await queue.purge({ state })
  }
  const tally = new Tally(call.clock.now())
  await expectAll(queue, tally)
  if (tally.total > 0) {
    const overdue =
      tally.overdue === 0 ? '' : `; ${formatCount(tally.overdue)} came due while no worker was here`
    return { tally, greeting: [`Welcome back: ${plural(tally.total, 'message')} still waited${overdue}.`] }
  }
  await queue.produceMany(planMessages({ count, spanMs }, systemRandom))
  await expectAll(queue, tally)
  return { tally, greeting: [] }
}

async function expectAll(queue: Punctual, tally: Tally): Promise<void> {
  const never = new AbortController().signal
  for (const state of ['delayed', 'ready', 'running'] as const) {
    for await (const { items: messages } of allPages(queue, { state }, never)) {
      for (const message of messages) tally.expect(message)
    }
  }
}

type Cast = {
  readonly queue: Punctual
  readonly queueName: string
  readonly tally: Tally
  readonly show: Show
}

async function performOn(call: DemoCall, cast: Cast): Promise<void> {
  try {
    await perform(call, cast)
  } finally {
    cast.show.end()
  }
}

/** Until everything has arrived, the store has nothing left, a signal comes, or its reader has gone. */
async function perform(call: DemoCall, { queue, queueName, tally, show }: Cast): Promise<void> {
  const { clock, out, store } = call
  const over = new AbortController()
  const signals = untilSignalled(() => undefined)
  void signals.first.then(() => over.abort())
  out.closed.addEventListener('abort', () => over.abort())
  const report = (event: Report): void => {
    const arrived = event.kind === 'arrived' ? tally.arrive(event) : undefined
    if (arrived !== undefined) show.arrived(arrived)
    if (tally.isComplete) over.abort()
  }
  const say = (note: string): void => show.note(note)
  const crew = new CrashingCrew({ queue, store, queueName, clock, tally, report, say, signal: over.signal })
  const isCrash = call.values.crash === true
  try {
    await (isCrash ? crew.start() : workHere(queue, report))
    await Promise.all([paintUntilOver(call, show, over.signal), watchStore(call, queue, over)])
    if (isCrash) await crew.stop()
    await queue.stop()
  } finally {
    signals.end()
  }
  show.tick({ now: clock.now(), isOver: true })
}

async function paintUntilOver({ clock }: DemoCall, show: Show, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    show.tick({ now: clock.now(), isOver: false })
    await sleep(clock, show.everyMs, signal)
  }
}

/** The store knows best when all is done: the last words of a worker that was killed may never reach us. */
async function watchStore({ clock }: DemoCall, queue: Punctual, over: AbortController): Promise<void> {
  while (!over.signal.aborted) {
    await sleep(clock, LOOK_EVERY_MS, over.signal)
    if (over.signal.aborted) return
    const { delayed, ready, running } = (await queue.stats({ topics: [] })).counts
    if (delayed + ready + running === 0) {
      await sleep(clock, LOOK_EVERY_MS, over.signal) // What was settled this moment is still being told.
      over.abort()
    }
  }
}

async function conclude(call: DemoCall, tally: Tally, queueName: string): Promise<ExitCode> {
  const { delayed, ready, running } = (await call.open({ queue: queueName }).stats({ topics: [] })).counts
  const verdict = judge(tally, delayed + ready + running)
  if (call.json) call.out.json({ event: 'finished', ...verdict })
  else {
    call.out.line()
    for (const line of renderVerdict(verdict, call.storeName, call.out.style, nextStep(call)))
      call.out.line(line)
  }
  return verdict.missing === 0 && verdict.early === 0 ? EXIT.fine : EXIT.failed
}

/** A command that exists where the visitor is: `npm run demo` in a clone, `npx punctual` beside an installed package. */
function nextStep({ env, values }: DemoCall): string {
  const isClone = env.npm_lifecycle_event === 'demo'
  const again = (option: string): string =>
    isClone ? `npm run demo -- ${option}` : `npx punctual demo ${option}`
  if (values.crash !== true) return `"${again('--crash')}" kills the worker half-way.`
  if (values.ui !== true) return `"${again('--ui')}" shows it in a browser too.`
  return isClone
    ? '"npm run example hello-delay" runs a small program.'
    : '"npx punctual --help" shows the rest.'
}
