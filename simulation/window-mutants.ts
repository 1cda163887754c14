/** Known mistakes with windows: see `mutants.ts`. */
import type { Mutant } from './mutants.ts'

export const WINDOW_MUTANTS: readonly Mutant[] = [
  {
    name: 'windows: a start does not ask',
    file: 'src/runtime/runs/run.ts',
    find: 'window: within === undefined ? undefined : askWindow(book, within, dueAt + latenessMs),',
    replace: 'window: within === undefined || askWindow(book, within, dueAt) ? undefined : undefined,',
  },
  {
    name: 'windows: a start asks of the moment of the message, and not of its own',
    file: 'src/runtime/runs/run.ts',
    find: 'askWindow(book, within, dueAt + latenessMs)',
    replace: 'askWindow(book, within, dueAt + 0 * latenessMs)',
  },
  {
    name: 'windows: a move hides the lapses of a poison message',
    file: 'src/runtime/leases/settler.ts',
    find: "{ kind: 'again', id, token, topic, when: outcome.when, keepsLapses: true }",
    replace: "{ kind: 'again', id, token, topic, when: outcome.when }",
  },
  {
    name: 'windows: a move hides the lapses, in the memory engine',
    file: 'src/store/memory/messages.ts',
    find: 'if (settlement.keepsLapses !== true) this.table.setLapses(slot, 0)',
    replace: 'this.table.setLapses(slot, 0)',
  },
  {
    name: 'windows: an opening is a minute late',
    file: 'src/core/windows/windows.ts',
    find: 'return Math.max(wall, day * DAY_MS + this.#fromMs)',
    replace: 'return wall < day * DAY_MS + this.#fromMs ? day * DAY_MS + this.#fromMs + 60_000 : wall',
  },
  {
    name: 'windows: the offset of the zone is passed over',
    file: 'src/core/windows/windows.ts',
    find: 'const wall = ask(at + offsetMs, until + offsetMs)',
    replace: 'const wall = offsetMs + ask(at, until)',
  },
]
