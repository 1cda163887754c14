/** A store as a dry run opens it: nothing is made there, and nothing migrated. */
import type { Punctual, PunctualOptions } from '../../index.ts'
import { engineForUrl } from '../../store/engines.ts'
import type { Call } from './command.ts'

/** Where there is no store yet, or no schema in it, an empty store of this process stands for it. */
export async function openUnchanged(
  { open }: Pick<Call, 'open'>,
  { store, queue }: { readonly store: string; readonly queue: string },
): Promise<Punctual> {
  const engine = engineForUrl(store)
  if (!(await engine.exists(store))) return open({ store: 'memory:', queue })
  const options: PunctualOptions = engine.options['migrate'] === undefined ? {} : { migrate: false }
  return open({ store, queue, ...options })
}
