/**
 * Known mistakes, each of them one that somebody has made in a delay queue. `npm run simulate -- --mutants` plants
 * them one at a time in a copy of the sources, and demands that the simulator catches every one.
 *
 * A mutant is an edit of the text: `find` must occur exactly once in its file. When the code around it has changed so
 * that it no longer does, the run fails and the mutant is to be planted anew.
 */
import { CONTROL_MUTANTS } from './control-mutants.ts'
import { KEY_MUTANTS } from './key-mutants.ts'
import { WINDOW_MUTANTS } from './window-mutants.ts'

export type Mutant = {
  readonly name: string
  readonly file: string
  readonly find: string
  readonly replace: string
}

export const MUTANTS: readonly Mutant[] = [
  {
    name: 'clear-after-read: a wake-up during a read is forgotten',
    file: 'src/core/machines/sleep.ts',
    find: 'if (state.woken) return [FRESH_READING, READ]',
    replace: '',
  },
  {
    name: 'no fallback: a lost wake-up is never made up for',
    file: 'src/core/machines/sleep.ts',
    find: 'const longest = Math.min(lookMs ?? fallbackMs, TIMER_MS_MAX)',
    replace: 'const longest = TIMER_MS_MAX + 0 * (lookMs ?? fallbackMs)',
  },
  {
    name: 'no pause after a failure: a store that is away is called without end',
    file: 'src/core/machines/sleep.ts',
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
    file: 'src/core/wheel/wheel-lanes.ts',
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
    file: 'src/runtime/leases/reaper.ts',
    find: 'settler.add(new LapseSettlement({ lease, outcome: this.#decide(lease), givesUpAt, reports, onAnswered }))',
    replace: `const { store } = this.#parts
    void store
      .settle([{ kind: 'ack', id: lease.id, token: lease.token, topic: lease.topic }])
      .then(() => store.put([{ ...lease, when: { delayMs: 0 }, ifExists: 'keep' }]))
      .catch(onAnswered)
    void [settler, reports, givesUpAt]`,
  },
  {
    name: 'an attempt is not counted when its worker dies',
    file: 'src/runtime/leases/reaper.ts',
    find: 'return decideLapse({ attempt, lapses, policy, chance })',
    replace: "return chance < 2 ? { kind: 'release' } : decideLapse({ attempt, lapses, policy, chance })",
  },
  {
    name: 'a crash goes through the retry policy at once',
    file: 'src/core/machines/outcome.ts',
    find: "if (lapses === 0) return { kind: 'lapse', error: LAPSE_ERROR }",
    replace: '',
  },
  {
    name: 'a message that kills its workers comes back without a pause',
    file: 'src/core/machines/outcome.ts',
    find: "if (lapses === 0) return { kind: 'lapse', error: LAPSE_ERROR }",
    replace: "return { kind: 'lapse', error: LAPSE_ERROR }",
  },
  {
    name: 'a worker takes over from itself',
    file: 'src/runtime/leases/reaper.ts',
    find: "{ from: 'lapsed', owner, limit, leaseMs },",
    replace: "{ from: 'lapsed', owner: 'reaper', limit, leaseMs },",
  },
  {
    name: 'what a lost answer handed out is never given back',
    file: 'src/runtime/claiming/strays.ts',
    find: 'const strays = page.leases.filter((lease) => !known.has(keyOf(lease)))',
    replace: 'const strays = page.leases.filter((lease) => !known.has(keyOf(lease)) && lease.id === "")',
  },
  {
    name: 'what a lost answer handed out counts as a crash',
    file: 'src/runtime/claiming/strays.ts',
    find: 'return isTakenOver ?',
    replace: 'return true ?',
  },
  {
    name: 'a takeover whose answer was lost does not count as a crash',
    file: 'src/runtime/claiming/strays.ts',
    find: 'return isTakenOver ?',
    replace: 'return false ?',
  },
  {
    name: 'a sweep does not wait for the claims under way',
    file: 'src/runtime/claiming/strays.ts',
    find: 'if (this.#claims > 0) await new Promise<void>((resolve) => (this.#onQuiet = resolve))',
    replace: '',
  },
  {
    name: 'own leases that lapsed are not extended',
    file: 'src/runtime/feed.ts',
    find: '        keeper.renewAll()',
    replace: '        keeper.watch()',
  },
  {
    name: 'what a worker gave back it never asks for again',
    file: 'src/runtime/feed.ts',
    find: 'this.#dispatcher.noteReturned(lane)',
    replace: 'void lane\n    this.#dispatcher.noteRoom()',
  },
  {
    name: 'handlers are refused by their queue while it stops',
    file: 'src/queue/queue.ts',
    find: 'if (this.#isClosed) throw stoppedError()',
    replace: 'if (this.#isClosed || this.#stopping !== undefined) throw stoppedError()',
  },
  {
    name: 'a release is counted as an attempt',
    file: 'src/store/memory/messages.ts',
    find: "      case 'release':\n        this.table.addAttempt(slot, -1)\n",
    replace: "      case 'release':\n",
  },
  {
    name: 'one retry too many',
    file: 'src/core/machines/outcome.ts',
    find: '  return attempt > policy.limit\n    ?',
    replace: '  return attempt > policy.limit + 1\n    ?',
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
    find: 'const isAhead = lease.latenessMs < 0',
    replace: 'const isAhead = lease.latenessMs < -1e9',
  },
  {
    name: 'a message is started on a lease that is over',
    file: 'src/runtime/consumers.ts',
    find: "if (now >= run.leaseEndsAt) return this.#feed(run, { kind: 'give back' })",
    replace: '',
  },
  {
    name: 'room is not given back by what never started',
    file: 'src/runtime/consumers.ts',
    find: `    this.#pump.run()
    // One that was lost`,
    replace: `    this.#pump.run()
    return
    // One that was lost`,
  },
  {
    name: 'the slot of a handler that hangs is never free again',
    file: 'src/core/machines/run.ts',
    find: "return [SETTLING, [ENDED, why === 'timeout' ? TIME_OUT : RELEASE]]",
    replace: "return [SETTLING, [why === 'timeout' ? TIME_OUT : RELEASE]]",
  },
  {
    name: 'a handler that hangs keeps its message for ever',
    file: 'src/core/machines/run.ts',
    find: "return [SETTLING, [ENDED, why === 'timeout' ? TIME_OUT : RELEASE]]",
    replace: 'return [state, NONE]',
  },
  {
    name: 'what cannot start is never given back',
    file: 'src/runtime/consumers.ts',
    find: 'this.#setDeadline(run, now + HOLD_MS_MAX, now)',
    replace: 'this.#setDeadline(run, now + 1e9, now)',
  },
  {
    name: 'no slot is kept for the topics of which nothing runs',
    file: 'src/runtime/runs/lanes.ts',
    find: 'return free - (lane.running === 0 ? this.#idle - 1 : this.#idle)',
    replace: 'return free',
  },
  {
    name: 'what waits for one topic takes the room of all others',
    file: 'src/runtime/runs/lanes.ts',
    find: 'const now = Math.max(0, this.slots - this.#running - starting)',
    replace: 'const now = Math.max(0, this.slots - this.#running - starting - 2 * waitingAhead - ahead)',
  },
  {
    name: 'a free slot of an idle lane is not counted as room',
    file: 'src/runtime/runs/lanes.ts',
    find: 'const atLeast = lane.running === 0 && this.#running < this.slots ? 1 : 0',
    replace: 'const atLeast = 0',
  },
  {
    name: 'of more topics than one claim takes, only the first are asked for',
    file: 'src/runtime/claiming/dispatcher.ts',
    find: 'from < wants.length && !this.#isStopped()',
    replace: 'from < Math.min(1, wants.length) && !this.#isStopped()',
  },
  {
    name: 'the next of several claims goes out although the worker has stopped',
    file: 'src/runtime/claiming/dispatcher.ts',
    find: 'from < wants.length && !this.#isStopped()',
    replace: 'from < wants.length',
  },
  {
    name: 'cut-off work is taken for completed work',
    file: 'src/core/machines/run.ts',
    find: "if (why === 'timeout') return TIME_OUT",
    replace: "if (why === 'timeout') return ending.kind === 'returned' ? COMPLETE : TIME_OUT",
  },
  {
    name: 'a return after a stop told it to end is taken for completed work',
    file: 'src/core/machines/run.ts',
    find: "return ending.kind === 'returned' && !hasSeenSignal ?",
    replace: "return ending.kind === 'returned' ?",
  },
  {
    name: 'what a handler throws because we told it to end counts against the message',
    file: 'src/core/machines/run.ts',
    find: "return ending.kind === 'returned' && !hasSeenSignal ?",
    replace: "return ending.kind === 'threw' || !hasSeenSignal ?",
  },
  {
    name: 'complete() is forgotten at the timeout',
    file: 'src/core/machines/run.ts',
    find: "      return abort('timeout', isComplete)\n    case 'stop':",
    replace: "      return abort('timeout', false)\n    case 'stop':",
  },
  {
    name: 'a lease that is known to be lost is settled all the same',
    file: 'src/core/machines/run.ts',
    find: "return state.why === 'lost' ? stepLost(state, event) : stepAborting(state, state.why, event)",
    replace: "return stepAborting(state, state.why === 'lost' ? 'stop' : state.why, event)",
  },
  {
    name: 'stop forgets what was fetched',
    file: 'src/runtime/consumers.ts',
    find: 'this.#giveBackAll(() => true)',
    replace: 'this.#giveBackAll(() => false)',
  },
  {
    name: 'stop waits for as long as it takes',
    file: 'src/clock.ts',
    find: 'const timer = clock.schedule(capMs, () => resolve(false))',
    replace: 'const timer = clock.schedule(capMs + 1e9, () => resolve(false))',
  },
  {
    name: 'stop leaves a timer behind',
    file: 'src/runtime/leases/keeper.ts',
    find: `    this.#isRunning = false
    this.#timer?.cancel()`,
    replace: '    this.#isRunning = false',
  },
  {
    name: 'keeper that never extends',
    file: 'src/runtime/leases/keeper.ts',
    find: 'isNeedy(run) && !this.#asked.has(run)',
    replace: 'isNeedy(run) && run.leaseEndsAt < -1e9 && !this.#asked.has(run)',
  },
  {
    name: 'of more leases than one call takes, only the first are extended',
    file: 'src/runtime/leases/keeper.ts',
    find: 'of inBatches(groups, batchMax)) sending',
    replace: 'of inBatches(groups, batchMax).slice(0, 1)) sending',
  },
  {
    name: 'of the leases of one claim only those that need it are extended',
    file: 'src/runtime/leases/keeper.ts',
    find: 'for (const run of this.#held()) groups.get(run.lease.token)?.push(run)',
    replace: 'for (const run of needy.slice(0, 1)) groups.get(run.lease.token)?.push(run)',
  },
  {
    name: 'a settlement that fails is taken for a failure of the handler',
    file: 'src/runtime/leases/settler.ts',
    find: '        left = this.#retryable(left, isOutage)',
    replace: `        left = this.#retryable(left, isOutage)
        for (const { settlement } of left) Object.assign(settlement, { kind: 'retry', delayMs: 0, error: '' })`,
  },
  {
    name: 'a settlement is tried only once',
    file: 'src/runtime/leases/settler.ts',
    find: '        left = this.#retryable(left, isOutage)',
    replace: '        left = this.#retryable(left, isOutage).slice(0, 0)',
  },
  {
    name: 'batches as large as they come',
    file: 'src/runtime/leases/settler.ts',
    find: '      entriesMax: batchMax,',
    replace: '      entriesMax: batchMax * 1e9,',
  },
  {
    name: 'produce resolves before the store has the message',
    file: 'src/runtime/producer.ts',
    find: '      this.#add({ draft, resolve, reject })',
    replace: `      this.#add({ draft, resolve, reject })
      resolve(draft.message.id)`,
  },
  {
    name: 'low priority first',
    file: 'src/store/memory/claiming.ts',
    find: 'for (const priority of PRIORITIES.keys() as IterableIterator<PriorityRank>) {',
    replace: 'for (const priority of [...PRIORITIES.keys()].reverse() as PriorityRank[]) {',
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
    released:`,
    replace: `    finished: (consumers?.counts.ended ?? 0) - before.ended + 0 * finished,
    released:`,
  },
  {
    name: 'list asks for more than a store takes at once',
    file: 'src/queue/looking/inspection.ts',
    find: 'limit: Math.min(limit - items.length, store.capabilities.batchMax),',
    replace: 'limit: limit - items.length,',
  },
  {
    name: 'a handler starts however long its schema took',
    file: 'src/runtime/runs/attempt.ts',
    find: "if (run.state.name === 'running' && isLeased(run)) callHandler",
    replace: 'if (isLeased !== undefined) callHandler',
  },
  {
    name: 'a payload is stored before its schema is asked',
    file: 'src/queue/queue.ts',
    find: `    await checkSchema(this.#settings, draft.message)
    return (await this.#openProducer()).produce(draft)`,
    replace: `    const stored = (await this.#openProducer()).produce(draft)
    await checkSchema(this.#settings, draft.message)
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
  {
    name: 'watch: who should step in for a watcher that leaves is not woken',
    file: 'simulation/world/model-watch.ts',
    find: 'if (informed.includes(owner) || this.#bells.ring(owner)) watching += 1',
    replace: "if (informed.includes(owner) || owner !== '') watching += 1",
  },
  {
    name: 'watch: where nobody hears a wake-up, nobody else is woken',
    file: 'simulation/world/model-watch.ts',
    find: 'if (heard === 0) this.#bells.ringAll(giver)',
    replace: 'void giver',
  },
  {
    name: 'watch: nobody looks within the fallback',
    file: 'simulation/world/model-watch.ts',
    find: 'isSafe ? later : soonest',
    replace: 'isSafe || fallbackMs <= LOOK_MS_MAX ? later : soonest',
  },
  {
    name: 'watch: a look further away than a minute',
    file: 'simulation/world/model-watch.ts',
    find: 'own === undefined ? spread : now + lookMsMax)',
    replace: 'own === undefined ? spread : now + 5 * lookMsMax)',
  },
  {
    name: 'watch: a worker without room keeps its place',
    file: 'simulation/world/model-watch.ts',
    find: "if (isKnown) return room === 'none' || (room === 'some' && list.length > 1) ? without(list, owner) : list",
    replace: 'if (isKnown) return list',
  },
  {
    name: 'watch: the reaper waits for word that does not come',
    file: 'src/runtime/leases/reaper.ts',
    find: 'this.#scheduler.told(Math.min(lapseMs, lookMs + fallbackMs))',
    replace: 'this.#scheduler.told(Math.max(lapseMs, lookMs + fallbackMs))',
  },
  {
    name: 'schedules: occurrences are put before the schedule is settled',
    file: 'src/runtime/schedules.ts',
    find: `  return {
    again: { at: firing.nextAt ?? now + PARKED_MS },
    carried: {
      followUps: firing.moments.map((at) => occurrence(name, schedule, at)),`,
    replace: `  for (const at of firing.moments) await store.put([occurrence(name, schedule, at)])
  return {
    again: { at: firing.nextAt ?? now + PARKED_MS },
    carried: {
      followUps: [],`,
  },
  {
    name: 'schedules: no fence around what a settlement carries, in the model',
    file: 'simulation/world/model-store.ts',
    find: `    const entry = this.#heldBy(settlement)
    if (entry === undefined) return 'lost'`,
    replace: `    const entry = this.#heldBy(settlement)
    if (entry === undefined) for (const message of followUpsOf(settlement)) this.#putOne(message)
    if (entry === undefined) return 'lost'`,
  },
  {
    name: 'schedules: more is said to be decided than was',
    file: 'src/core/recurrence/firing.ts',
    find: '(coming.at(-1) ?? now) : isAhead ? now + REACH_MS : now',
    replace: '(coming.at(-1) ?? now) : isAhead ? now + REACH_MS + LEAD_MS : now',
  },
  {
    name: 'schedules: what was decided ahead is decided again',
    file: 'src/core/recurrence/firing.ts',
    find: 'const from = Math.max(now, progress.until)',
    replace: 'const from = now',
  },
  {
    name: 'schedules: what an edit withdrew stays decided',
    file: 'src/core/recurrence/edits.ts',
    find: 'return decidedUpTo(schedule, Math.max(now, until - REACH_MS))',
    replace: 'return decidedUpTo(schedule, Math.max(now, until))',
  },
  {
    name: 'follow-ups are forgotten',
    file: 'src/runtime/runs/settlement.ts',
    find: 'return followUps === undefined || followUps.length === 0 ? undefined : { followUps }',
    replace: 'return followUps === undefined ? undefined : undefined',
  },
  {
    name: 'follow-ups of an attempt that failed are stored',
    file: 'src/runtime/runs/attempt.ts',
    find: "const completes = ending.kind === 'returned' || ('isComplete' in state && state.isComplete)",
    replace: "const completes = state.name !== 'over'\n  if (followUps !== undefined) ending = RETURNED",
  },
  {
    name: 'a snooze is counted as an attempt',
    file: 'src/store/memory/messages.ts',
    find: "      case 'again':\n        this.table.addAttempt(slot, -1)\n",
    replace: "      case 'again':\n",
  },
  {
    name: 'what replaces a running message is lost when that is retried',
    file: 'src/store/memory/messages.ts',
    find: 'if (successor !== undefined) this.#place(successor.message, successor, now)',
    replace:
      "if (settlement.kind === 'ack' && successor !== undefined) this.#place(successor.message, successor, now)",
  },
  {
    name: 'a successor is forgotten by the model when its message ends',
    file: 'simulation/world/model-store.ts',
    find: 'if (successor !== undefined) this.#place(successor.message, successor)',
    replace: 'void successor',
  },
  {
    name: 'replacing again and again postpones for ever',
    file: 'src/store/shared/moments.ts',
    find: 'return { dueAt: Math.min(dueAt, producedAt + latestMs), producedAt }',
    replace: 'return { dueAt, producedAt }',
  },
  {
    name: 'cancel leaves the successor of a running message',
    file: 'src/store/memory/messages.ts',
    find: "      this.#dropSuccessor(slot)\n      if (!isRunningToo) return 'running'",
    replace: "      if (!isRunningToo) return 'running'",
  },
  {
    name: 'an id is free as soon as its message is done',
    file: 'src/store/memory/remembered.ts',
    find: 'return message !== undefined && message.until > now ? message : undefined',
    replace: 'return message !== undefined && message.until < now ? message : undefined',
  },
  {
    name: 'a message that is to be cancelled is tried again',
    file: 'src/store/memory/messages.ts',
    find: 'const isCancelled = this.table.isCancelling(slot) && !isOwnWord(settlement)',
    replace: "const isCancelled = this.table.isCancelling(slot) && settlement.kind === 'ack'",
  },
  ...CONTROL_MUTANTS,
  ...KEY_MUTANTS,
  ...WINDOW_MUTANTS,
]
