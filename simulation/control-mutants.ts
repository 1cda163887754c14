/** Known mistakes with pauses and limits: see `mutants.ts`. What a store alone gets wrong, the conformance suite finds. */
import type { Mutant } from './mutants.ts'

export const CONTROL_MUTANTS: readonly Mutant[] = [
  {
    name: 'a pause is kept, and no claim obeys it',
    file: 'src/store/shared/gates.ts',
    find: '    if (this.#pausedUntil > this.#now) return 0\n',
    replace: '',
  },
  {
    name: 'a pause of the whole queue holds for no topic',
    file: 'src/store/shared/gates.ts',
    find: 'isControl(topic) ? [topic] : [topic, WHOLE_QUEUE]',
    replace: 'isControl(topic) ? [topic] : [topic]',
  },
  {
    name: 'a start under a rate is not charged',
    file: 'src/store/shared/gates.ts',
    find: '      meters.rate?.charge(count)\n',
    replace: '',
  },
  {
    name: 'what was charged is not kept',
    file: 'src/store/memory/claiming.ts',
    find: '  for (const [topic, control] of gates.charged()) messages.controls.set(topic, control)\n',
    replace: '',
  },
  {
    name: 'one more than the limit runs',
    file: 'src/store/shared/gates.ts',
    find: 'this.#places = places - running',
    replace: 'this.#places = places - running + 1',
  },
  {
    name: 'a limited topic is leased ahead like any other',
    file: 'src/store/shared/gates.ts',
    find: 'return this.isLimited ? 0 : leadMs',
    replace: 'return leadMs',
  },
  {
    name: 'a settlement at the limit wakes nobody',
    file: 'src/store/memory/messages.ts',
    find: 'if (running === concurrency) this.sleepers.note(releasedBy)',
    replace: 'if (running === concurrency) this.sleepers.wake()',
  },
  {
    name: 'a resume wakes nobody',
    file: 'src/store/memory/sleepers.ts',
    find: 'for (const { call } of this.#sleepers) call({ kind })',
    replace: '',
  },
  {
    name: 'what a worker holds starts in a pause',
    file: 'src/runtime/claiming/controls.ts',
    find: '    this.#giveBack(now)\n',
    replace: '',
  },
  {
    name: 'a limited lane that took all its slots is not asked for again',
    file: 'src/runtime/claiming/dispatcher.ts',
    find: "return facts === 'limited' && isUsedUp ? [lane] : []",
    replace: 'return isUsedUp ? [] : []',
  },
]
