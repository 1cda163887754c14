/** What an event says of its message, whatever it is about. */
import { decodePolicy } from '../../core/encoding/codec.ts'

export type AboutMessage = {
  readonly id: string
  readonly topic: string
  readonly attempt: number
  /** As they were produced; absent where it has none. */
  readonly tags?: readonly string[]
  readonly key?: string
}

/** Of a lease; more that it may have is not told. */
export type ToldMessage = Pick<AboutMessage, 'id' | 'topic' | 'attempt' | 'key'> & { readonly meta: string }

export function aboutMessage({ id, topic, attempt, key, meta }: ToldMessage): AboutMessage {
  if (key === undefined && meta === '') return { id, topic, attempt } // Nearly all.
  const tags = decodePolicy(meta)?.tags
  return {
    id,
    topic,
    attempt,
    ...(tags === undefined ? {} : { tags }),
    ...(key === undefined ? {} : { key }),
  }
}
