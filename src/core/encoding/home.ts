/**
 * Where a message lives, in a queue that is spread over partitions: decided by its id alone, so that every process that knows the id
 * finds it. What an id has in braces decides instead of the whole, so that ids which share it share their home:
 *
 *   {customer-7}invoice-1        {customer-7}invoice-2     one home
 *   the schedule "nightly"       {nightly}@2030-01-01T…    the same: it stores its occurrences in the step that moves it
 */
import { SCHEDULE_MARK } from '../control.ts'

/** FNV-1a over the units of the text, and a last stir (as in MurmurHash3): the low bits of FNV alone mix badly. */
const [OFFSET_BASIS, PRIME, STIR_1, STIR_2] = [0x811c9dc5, 0x01000193, 0x85ebca6b, 0xc2b2ae35]

/** The number of its partition. */
export function homeOf(id: string, partitions: number): number {
  return partitions === 1 ? 0 : hashOf(homeKeyOf(id)) % partitions
}

/** The part of the id that decides. */
export function homeKeyOf(id: string): string {
  if (id.startsWith(SCHEDULE_MARK)) return id.slice(SCHEDULE_MARK.length)
  // Between the first brace that opens and the next that closes; nothing in between is no key.
  const from = id.indexOf('{')
  const until = from < 0 ? -1 : id.indexOf('}', from)
  return until > from + 1 ? id.slice(from + 1, until) : id
}

function hashOf(key: string): number {
  let hash = OFFSET_BASIS
  for (let i = 0; i < key.length; i += 1) {
    const unit = key.charCodeAt(i)
    hash = Math.imul(hash ^ (unit & 0xff), PRIME)
    if (unit > 0xff) hash = Math.imul(hash ^ (unit >>> 8), PRIME)
  }
  hash = Math.imul(hash ^ (hash >>> 16), STIR_1)
  hash = Math.imul(hash ^ (hash >>> 13), STIR_2)
  return (hash ^ (hash >>> 16)) >>> 0
}
