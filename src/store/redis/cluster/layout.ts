/**
 * How many partitions a queue has: written when it is first opened, and never changed, because a message is looked for
 * where its id says. A process that opens the queue with another number would look in the wrong places, and is refused.
 *
 * It is written three times, in three parts of the slot range: two that agree are enough, so that a queue can be opened
 * while one master is away, and two processes that open it first with different numbers never both succeed.
 */
import { UnavailableError, UsageError } from '../../../core/errors.ts'
import { escaped } from '../scripts/keys.ts'
import { tagInRange } from './slots.ts'

const COPIES = 3
const ENOUGH = 2
const KEY_PATTERN = /^punctual:2:\{(.+)#layout\d\.\d+\}:layout$/

/** As SCAN matches them. */
export const LAYOUT_PATTERN = 'punctual:2:{*#layout?.*}:layout'

export type LayoutCopy = { readonly tag: string; readonly key: string }
export type LayoutCall = (tag: string, command: readonly string[]) => Promise<unknown>

export function layoutCopies(queue: string): LayoutCopy[] {
  return Array.from({ length: COPIES }, (_, part) => {
    const tag = tagInRange(`${escaped(queue)}#layout${part}`, part, COPIES)
    return { tag, key: `punctual:2:${tag}:layout` }
  })
}

export function queueOfLayout(key: string): string | undefined {
  return KEY_PATTERN.exec(key)?.[1]?.replaceAll('%7D', '}').replaceAll('%25', '%')
}

/** Writes the number down where there is none; rejects where there is another. */
export async function agreeOnLayout(queue: string, partitions: number, call: LayoutCall): Promise<void> {
  const answers = await Promise.allSettled(
    layoutCopies(queue).map(async ({ tag, key }) => {
      await call(tag, ['SET', key, String(partitions), 'NX'])
      return String(await call(tag, ['GET', key]))
    }),
  )
  const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
  const failure = answers.find((answer) => answer.status === 'rejected')
  if (found.length < ENOUGH) throw failure?.reason
  const agreed = found.find((value) => found.filter((other) => other === value).length >= ENOUGH)
  if (agreed === String(partitions)) return
  if (agreed === undefined)
    throw new UnavailableError(
      'STORE_UNAVAILABLE',
      `queue ${queue} is being opened with different numbers of partitions (${found.join(', ')}); open it with one.`,
      { value: partitions },
    )
  throw new UsageError(
    'STORE_REFUSED',
    `queue ${queue} has ${agreed} partitions, and the URL says ${partitions}; the number is fixed when a queue is first opened: give ?partitions=${agreed}, or choose another queue name.`,
    { value: partitions },
  )
}
