/** What engines without the feature `keys` refuse: a message is refused rather than stored without its key. */
import { UsageError } from '../../core/errors.ts'
import { followUpsOf } from '../contract/sizes.ts'
import type { Capabilities, NewMessage, Settlement } from '../contract/store.ts'

type Keyless = Pick<Capabilities, 'engine'>

export function messages({ engine }: Keyless, all: readonly Pick<NewMessage, 'key'>[]): void {
  if (all.some(({ key }) => key !== undefined)) throw refusal({ engine })
}

export function settlements(engine: Keyless, all: readonly Settlement[]): void {
  for (const settlement of all) messages(engine, followUpsOf(settlement))
}

/** In place of the verb `keys`. */
export function absent(engine: () => Keyless): () => Promise<never> {
  return () => Promise.reject(refusal(engine()))
}

export function refusal({ engine }: Keyless): UsageError {
  return new UsageError(
    'UNSUPPORTED',
    `the ${engine} engine has no keys; leave "key" and "perKey" out, or use an engine that has them.`,
    { value: 'keys' },
  )
}
