/**
 * Known mistakes, each of them one that somebody has made in a delay queue. `npm run simulate -- --mutants` plants
 * them one at a time in a copy of the sources, and demands that the simulator catches every one.
 *
 * A mutant is an edit of the text: `find` must occur exactly once in its file. When the code around it has changed so
 * that it no longer does, the run fails and the mutant is to be planted anew.
 */
export type Mutant = {
  readonly name: string
  readonly file: string
  readonly find: string
  readonly replace: string
}

export const MUTANTS: readonly Mutant[] = [
  {
    name: 'clear-after-read: a wake-up during a read is forgotten',
    file: 'src/core/schedule.ts',
    find: 'if (state.woken) return [FRESH_READING, READ]',
    replace: '',
  },
  {
    name: 'no fallback: a lost wake-up is never made up for',
    file: 'src/core/schedule.ts',
    find: 'const longest = Math.min(fallbackMs, TIMER_MS_MAX)',
    replace: 'const longest = TIMER_MS_MAX + 0 * fallbackMs',
  },
  {
    name: 'no pause after a failure: a store that is away is called without end',
    file: 'src/core/schedule.ts',
    find: 'const ms = exponentialMs(FAILURE_PAUSE, failures, event.chance)',
    replace: 'const ms = 0 * exponentialMs(FAILURE_PAUSE, failures, event.chance)',
  },
  {
    name: 'retry without wake: nobody hears of a message that is due again',
    file: 'src/store/memory/store.ts',
    find: 'return this.#waking(settlements.map((settlement) => this.#messages.settle(settlement, now)))',
    replace: 'return settlements.map((settlement) => this.#messages.settle(settlement, now))',
  },
  {
    name: 'reschedule without wake',
    file: 'src/store/memory/store.ts',
    find: 'return this.#waking(moves.map((move) => this.#messages.reschedule(move, now)))',
    replace: 'return moves.map((move) => this.#messages.reschedule(move, now))',
  },
  {
    name: 'missing fence: a late worker settles the attempt of another',
    file: 'simulation/world/model-store.ts',
    find: 'return entry?.held?.token === token ? entry : undefined',
    replace: 'return entry?.held !== undefined && token !== undefined ? entry : undefined',
  },
  {
    name: 'missing fence in the memory engine',
    file: 'src/store/memory/leases.ts',
    find: 'return this.#heldFor(slot)?.token === token',
    replace: 'return this.#heldFor(slot) !== undefined && token !== undefined',
  },
  {
    name: 'a retry forgets the first moment',
    file: 'src/store/memory/table.ts',
    find: '    this.#firstDueAt.set(slot, this.firstDueAt(slot))\n',
    replace: '',
  },
  {
    name: 'a claim is told of a moment after its own',
    file: 'src/core/wheel-lanes.ts',
    find: '    if (dueAt === this.#earliest[lane]) this.#stale[lane] = 1\n',
    replace: '',
  },
  {
    name: 'a lapsed lease is taken over under its old token',
    file: 'simulation/world/model-store.ts',
    find: 'const token = String(this.#granted)',
    replace: 'const token = entry.held?.token ?? String(this.#granted)',
  },
  {
    name: 'two-step recovery: a lapsed message is taken out, then put back',
    file: 'src/runtime/reaper.ts',
    find: 'settler.add(new LapseSettlement(lease, this.#decide(lease), givesUpAt, this.#parts.events))',
    replace: `void store
        .settle([{ kind: 'ack', id: lease.id, token: lease.token, topic: lease.topic }])
        .then(() => store.put([{ ...lease, when: { delayMs: 0 }, ifExists: 'keep' }]))
        .catch(() => new LapseSettlement(lease, this.#decide(lease), givesUpAt, settler))`,
  },
  {
    name: 'an attempt is not counted when its worker dies',
    file: 'src/core/outcome.ts',
    find: `    case 'lapsed':
      return retryOrDead(`,
    replace: `    case 'lapsed':
      return RELEASE
      retryOrDead(`,
  },
  {
    name: 'a release is counted as an attempt',
    file: 'src/store/memory/messages.ts',
    find: '        this.table.addAttempt(slot, -1)\n',
    replace: '',
  },
  {
    name: 'one retry too many',
    file: 'src/core/outcome.ts',
    find: 'return attempt > policy.limit ?',
    replace: 'return attempt > policy.limit + 1 ?',
  },
  {
    name: 'early timer trusted: everything that is held starts with the first',
    file: 'src/runtime/runs/holding.ts',
    find: 'const firstLater = this.#runs.findIndex((run) => run.startsAt > now)',
    replace: 'const firstLater = this.#runs.findIndex((run) => run.startsAt > now + 1e9)',
  },
  {
    name: 'leased ahead is taken for due',
    file: 'src/runtime/consumers.ts',
    find: 'else if (lease.latenessMs < 0) this.#holding.hold(run)',
    replace: 'else if (lease.latenessMs < -1e9) this.#holding.hold(run)',
  },
  {
    name: 'a message is started on a lease that is over',
    file: 'src/runtime/consumers.ts',
    find: "if (!this.#isLeased(run)) return this.#settle(run, { kind: 'release' })",
    replace: '',
  },
  {
    name: 'room is not given back by what never started',
    file: 'src/runtime/consumers.ts',
    find: `    this.#pump()
    // One that was lost`,
    replace: `    this.#pump()
    return
    // One that was lost`,
  },
  {
    name: 'the slot of a handler that hangs is never free again',
    file: 'src/runtime/consumers.ts',
    find: `    if (this.#parts.lanes.freeSlot(run)) this.#endedCount += 1
    this.#pump()
    if (this.running`,
    replace: `    this.#pump()
    if (this.running`,
  },
  {
    name: 'a handler that hangs keeps its message for ever',
    file: 'src/runtime/consumers.ts',
    find: "if (run.phase === 'running' && run.isTimedOut) this.#conclude(run, timedOut(run))",
    replace: '',
  },
  {
    name: 'stop forgets what was fetched',
    file: 'src/runtime/consumers.ts',
    find: "if (run.phase !== 'held' && run.phase !== 'queued') continue",
    replace: "if (run.phase !== 'over') continue",
  },
  {
    name: 'stop waits for as long as it takes',
    file: 'src/clock.ts',
    find: 'const timer = clock.schedule(capMs, () => resolve(false))',
    replace: 'const timer = clock.schedule(capMs + 1e9, () => resolve(false))',
  },
  {
    name: 'stop leaves a timer behind',
    file: 'src/runtime/keeper.ts',
    find: `    this.#isRunning = false
    this.#timer?.cancel()`,
    replace: '    this.#isRunning = false',
  },
  {
    name: 'keeper that never extends',
    file: 'src/runtime/keeper.ts',
    find: 'run.leaseEndsAt < soon && !run.isBeingExtended',
    replace: 'run.leaseEndsAt < soon - 1e9 && !run.isBeingExtended',
  },
  {
    name: 'of more leases than one call takes, only the first are extended',
    file: 'src/runtime/keeper.ts',
    find: 'for (let from = 0; from < needy.length; from += batchMax)',
    replace: 'for (let from = 0; from < Math.min(1, needy.length); from += batchMax)',
  },
  {
    name: 'a settlement that fails is taken for a failure of the handler',
    file: 'src/runtime/settler.ts',
    find: '        left = this.#retryable(left)',
    replace: `        left = this.#retryable(left)
        for (const { settlement } of left) Object.assign(settlement, { kind: 'retry', delayMs: 0, error: '' })`,
  },
  {
    name: 'a settlement is tried only once',
    file: 'src/runtime/settler.ts',
    find: '        left = this.#retryable(left)',
    replace: '        left = this.#retryable(left).slice(0, 0)',
  },
  {
    name: 'batches as large as they come',
    file: 'src/runtime/settler.ts',
    find: 'const { batchMax } = this.#parts.store.capabilities',
    replace: 'const batchMax = 1e9',
  },
  {
    name: 'produce resolves before the store has the message',
    file: 'src/runtime/producer.ts',
    find: '      this.#turn.add({ draft, resolve, reject })',
    replace: `      this.#turn.add({ draft, resolve, reject })
      resolve(draft.message.id)`,
  },
  {
    name: 'low priority first',
    file: 'src/store/memory/claiming.ts',
    find: 'for (const priority of PRIORITIES.keys()) {',
    replace: 'for (const priority of [...PRIORITIES.keys()].reverse()) {',
  },
  {
    name: 'an extension is answered, and not kept',
    file: 'src/store/memory/leases.ts',
    find: '    this.#place(number, endsAt)\n  }\n\n  end(',
    replace: '    this.#place(number, this.#columns.dueAt[number] as number)\n  }\n\n  end(',
  },
  {
    name: 'a handler that ends after it was left behind is counted twice',
    file: 'src/runtime/stopping.ts',
    find: `    finished,
    released,`,
    replace: `    finished: (consumers?.ended ?? 0) - endedBefore + 0 * finished,
    released,`,
  },
  {
    name: 'list asks for more than a store takes at once',
    file: 'src/queue/inspection.ts',
    find: 'limit: Math.min(limit - items.length, store.capabilities.batchMax),',
    replace: 'limit: limit - items.length,',
  },
  {
    name: 'a handler starts however long its schema took',
    file: 'src/runtime/runs/attempt.ts',
    find: "if (run.phase === 'running' && !run.isAborted && isLeased(run)) callHandler",
    replace: 'if (isLeased !== undefined) callHandler',
  },
  {
    name: 'a payload is stored before its schema is asked',
    file: 'src/queue/queue.ts',
    find: `    await this.#checkSchema(draft)
    return (await this.#openProducer()).produce(draft)`,
    replace: `    const stored = (await this.#openProducer()).produce(draft)
    await this.#checkSchema(draft)
    return stored`,
  },
  {
    name: 'a schema that refuses is a failure like any other',
    file: 'src/runtime/runs/attempt.ts',
    find: "ended(run, { kind: 'threw', error: new DeadLetter('schema', { cause }) }),",
    replace: "ended(run, { kind: 'threw', error: cause }),",
  },
  {
    name: 'what was due stays due when the clock is set back',
    file: 'src/store/memory/messages.ts',
    find: '    this.waiting.restart(now)\n',
    replace: '',
  },
  {
    name: 'a lease that had ended stays ended when the clock is set back',
    file: 'src/store/memory/messages.ts',
    find: '    this.leases.restart(now)\n',
    replace: '',
  },
]
