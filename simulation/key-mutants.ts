/** Known mistakes with keys: see `mutants.ts`. Each is planted where the memory engine or the model decides. */
import type { Mutant } from './mutants.ts'

const MEMORY = 'src/store/memory/keys/keys.ts'
const MESSAGES = 'src/store/memory/messages.ts'
const MODEL = 'simulation/world/model-keys.ts'

export const KEY_MUTANTS: readonly Mutant[] = [
  {
    name: 'keys: a service does not move the turn',
    file: MEMORY,
    find: '    key.turns[rank] = servedTurn(key.turns[rank] ?? FRESH_TURN, weight, this.#stamp)\n',
    replace: '    void servedTurn(FRESH_TURN, weight, this.#stamp)\n',
  },
  {
    name: 'keys: a service does not move the turn, in the model',
    file: MODEL,
    find: 'record.turns[message.priority] = servedTurn(turn, weight, this.#stamp)',
    replace: 'void servedTurn(turn, weight, this.#stamp)',
  },
  {
    name: 'keys: a weight of one is two',
    file: 'src/core/keys.ts',
    find: 'return used + 1 >= weight ?',
    replace: 'return used >= weight ?',
  },
  {
    name: 'keys: ties go by id',
    file: MODEL,
    find: 'a.dueAt - b.dueAt || a.order - b.order',
    replace: 'a.dueAt - b.dueAt || (a.message.id < b.message.id ? -1 : 1)',
  },
  {
    name: 'keys: a put displaces a retry that holds its key',
    file: MEMORY,
    find: '    const [dueAt, , rank] = this.#placeOf(slot)\n    if (key.waiting',
    replace: '    const [dueAt, , rank] = this.#placeOf(slot)\n    key.held.clear()\n    if (key.waiting',
  },
  {
    name: 'keys: a put displaces a retry that holds its key, in the model',
    file: MODEL,
    find: 'const held = isSerial(terms) ? waiting.filter(({ isHolding }) => isHolding) : []',
    replace:
      'const held = isSerial(terms) && waiting.every(({ dueAt }) => dueAt > now) ? waiting.filter(({ isHolding }) => isHolding) : []',
  },
  {
    name: 'keys: a retry lets go of its key',
    file: MESSAGES,
    find: `        this.table.putOff(slot, now + settlement.delayMs)
        this.#wait(slot, 'running', { now, isHolding: true })`,
    replace: `        this.table.putOff(slot, now + settlement.delayMs)
        this.#wait(slot, 'running', { now })`,
  },
  {
    name: 'keys: a retry lets go of its key, in the model',
    file: 'simulation/world/model-store.ts',
    find: '    entry.isHolding = key !== undefined && this.#keys.isSerial({ topic, key })',
    replace: '    entry.isHolding = key === topic && this.#keys.isSerial({ topic, key })',
  },
  {
    name: 'keys: a snooze holds its key',
    file: MESSAGES,
    find: `        if (settlement.content !== undefined) this.table.setContent(slot, settlement.content)
        this.#wait(slot, 'running', { now })`,
    replace: `        if (settlement.content !== undefined) this.table.setContent(slot, settlement.content)
        this.#wait(slot, 'running', { now, isHolding: true })`,
  },
  {
    name: 'keys: what is given back frees its key twice',
    file: MESSAGES,
    find: `      case 'release':
        this.table.addAttempt(slot, -1)
`,
    replace: `      case 'release':
        this.table.addAttempt(slot, -1)
        this.#endKeyed(slot, now)
`,
  },
  {
    name: 'keys: what lapses never frees its key',
    file: MEMORY,
    find: '    key.running -= 1\n    if (isHolding',
    replace: '    if (!isHolding) key.running -= 1\n    if (isHolding',
  },
  {
    name: 'keys: the first is lost where nothing behind it is due',
    file: MEMORY,
    find: '    if (slot === undefined || dueAt > this.#now) {',
    replace:
      '    if (slot === undefined || dueAt > this.#now || (key.running > 0 && key.waiting.size === 1)) {',
  },
  {
    name: 'keys: a settlement tells its key nothing',
    file: MEMORY,
    find: '    key.running -= 1\n    this.#refresh(key)\n',
    replace: '    key.running -= 1\n',
  },
  {
    name: 'keys: a settlement unblocks one priority only',
    file: MODEL,
    find: ': [0, 1, 2].flatMap((rank) =>',
    replace: ': [0, 1, 2].slice(running === 0 ? 0 : 1).flatMap((rank) =>',
  },
  {
    name: 'keys: a start under a rate is not charged',
    file: MEMORY,
    find: '      key.filledAt = meter.filledAt\n',
    replace: '      void meter.filledAt\n',
  },
  {
    name: 'keys: a start under a rate is not charged, in the model',
    file: MODEL,
    find: '      record.filledAt = meter.filledAt\n',
    replace: '      void meter.filledAt\n',
  },
  {
    name: 'keys: one more than the limit runs',
    file: MODEL,
    find: 'if (running >= (terms.concurrency ?? Infinity)) return []',
    replace: 'if (running > (terms.concurrency ?? Infinity)) return []',
  },
  {
    name: 'keys: what is left of a key is kept',
    file: MEMORY,
    find: '    if (isEmpty && key.recoversAt === Infinity) this.#forget(key)\n',
    replace: '    void this.#forget\n',
  },
  {
    name: 'keys: a key that may go on wakes nobody',
    file: 'simulation/world/model-store.ts',
    find: '    this.#keyMoved(entry, giver)\n    if (isCancelled)',
    replace: '    void giver\n    if (isCancelled)',
  },
  {
    name: 'keys: a change of limits is heard by no key',
    file: MEMORY,
    find: '    this.#sweptTo = 0\n',
    replace: '',
  },
]
