/** Handlers of every character: quick, slow, failing, hanging, deaf to their signal. */
import { homeKeyOf } from '../../src/core/encoding/home.ts'
import { assertNever, UsageError } from '../../src/core/errors.ts'
import { DeadLetter, RetryIn, Snooze } from '../../src/core/machines/outcome.ts'
import type { Message } from '../../src/runtime/handler.ts'
import type { Chance } from './chance.ts'
import type { LeaseRecord } from '../judges/lease-record.ts'
import { never } from './never.ts'
import type { SimulatedProcess } from './process.ts'
import type { World } from './world.ts'

export type HandlerKind =
  | 'returns at once'
  | 'returns soon'
  | 'is slow'
  | 'throws'
  | 'throws later'
  | 'throws RetryIn'
  | 'throws DeadLetter'
  | 'waits for its signal'
  | 'ignores its signal'
  | 'never ends'
  | 'asks for more time'
  | 'completes early'
  | 'calls its queue'
  | 'takes seconds'
  | 'follows up'
  | 'follows up and throws'
  | 'snoozes'

const SOON_MS = 40
/** What the ids of probes begin with that keep a slot for a while, and for how long. */
export const LONG_PROBE = 'long probe'
export const LONG_PROBE_MS = 6_000

type Scene = {
  readonly world: World
  readonly process: SimulatedProcess
  readonly chance: Chance
  readonly message: Message
  readonly lease: LeaseRecord
}

/** On a good day handlers end well, and within their time. */
export function calmKind({ id, policy: { timeoutMs } }: LeaseRecord): HandlerKind {
  if (id.startsWith(LONG_PROBE)) return 'takes seconds'
  return timeoutMs > 2 * SOON_MS ? 'returns soon' : 'returns at once'
}

/** May throw at once, return at once, or take its time. */
export function perform(kind: HandlerKind, scene: Scene): unknown {
  const { chance, lease, world } = scene
  switch (kind) {
    case 'returns at once':
      return undefined
    case 'returns soon':
      return pass(scene, chance.next() * SOON_MS)
    case 'is slow':
      return pass(scene, chance.spread(SOON_MS, longMs(scene)))
    case 'throws':
      throw new Error('no luck')
    case 'throws later':
      return pass(scene, chance.spread(1, longMs(scene))).then(() => Promise.reject(new Error('no luck')))
    case 'throws RetryIn':
      throw new RetryIn(chance.whole(0, world.plan.retryWaitMaxMs))
    case 'throws DeadLetter':
      return pass(scene, chance.next() * SOON_MS).then(() => Promise.reject(new DeadLetter('hopeless')))
    case 'waits for its signal':
      return untilAborted(scene)
    case 'ignores its signal':
      return pass(scene, lease.policy.timeoutMs + chance.spread(1, longMs(scene)))
    case 'never ends':
      return never()
    case 'asks for more time':
      return askForMore(scene)
    case 'completes early':
      return completeEarly(scene)
    case 'calls its queue':
      return callQueue(scene)
    case 'takes seconds':
      return pass(scene, LONG_PROBE_MS)
    case 'follows up':
      return followUp(scene)
    case 'follows up and throws':
      return followUp(scene).then(() => Promise.reject(new Error('no luck')))
    case 'snoozes':
      throw new Snooze(chance.whole(0, world.plan.retryWaitMaxMs))
    default:
      return assertNever(kind)
  }
}

/** Long enough for a lease to lapse if nobody kept it. */
function longMs({ world, lease }: Scene): number {
  return Math.max(world.plan.leaseMs * 3, lease.policy.timeoutMs * 2)
}

function pass({ world, process }: Scene, ms: number): Promise<void> {
  return new Promise((resolve) => {
    world.timeline.after(ms, process, resolve)
  })
}

function untilAborted({ message }: Scene): Promise<never> {
  return new Promise((_resolve, reject) => {
    const { signal } = message
    const end = (): void => reject(new Error('aborted'))
    if (signal.aborted) end()
    else signal.addEventListener('abort', end)
  })
}

async function askForMore(scene: Scene): Promise<void> {
  const { chance, lease, message, process } = scene
  for (let i = chance.whole(1, 3); i > 0; i -= 1) {
    await pass(scene, lease.policy.timeoutMs * chance.next() * 0.9)
    lease.hasExtended = true
    process.rate.allow(1)
    if (!(await message.extend().catch(() => true))) return
  }
}

/** Says that it is done, and then does whatever it likes. */
async function completeEarly(scene: Scene): Promise<void> {
  const { chance, lease, message } = scene
  await pass(scene, chance.next() * SOON_MS)
  // What is over when it speaks is not completed by it.
  lease.isComplete = lease.settledAs === undefined && lease.abortedAt === undefined
  if (!lease.isComplete) return
  message.complete()
  await pass(scene, chance.spread(1, longMs(scene)))
  if (chance.happens(0.5)) throw new Error('too late to matter')
}

const FOLLOW_UPS_MAX = 3

/** Attaches what should come next: some with an id that meets others, some with one of their own. */
async function followUp(scene: Scene): Promise<void> {
  const { chance, lease, message, process, world } = scene
  for (let i = chance.whole(1, FOLLOW_UPS_MAX); i > 0; i -= 1) {
    if (lease.settledAs !== undefined || lease.abortedAt !== undefined) return
    // A chain must end, or the calm after the storm never comes.
    const isLong = message.id.length > 60
    const id = chance.happens(0.3)
      ? { id: besides(scene, `own${chance.whole(1, 30)}`) }
      : isLong
        ? {}
        : { id: beginning(scene, `${message.id}+`) }
    const ifExists = chance.pick(['keep', 'replace'] as const)
    const topic = chance.pick(world.plan.topics) ?? 'a'
    const delay = chance.spread(0, world.plan.stormMs / 4)
    const attached = message.followUp(topic, { n: 0 }, { delay, ifExists, ...id, ...process.keyed.some() })
    // What is over when it speaks is attached to nothing.
    lease.attached.push(await attached)
    if (chance.happens(0.5)) await pass(scene, chance.next() * SOON_MS)
  }
}

/** An id with the home of this message: only there can it be stored in the same step. */
function besides({ message, world }: Scene, id: string): string {
  return world.partitions.length === 1 ? id : `{${homeKeyOf(message.id)}}${id}`
}

/** The same for an id that begins with the message's own. */
function beginning({ message, world }: Scene, id: string): string {
  return world.partitions.length === 1 || message.id.startsWith('{') ? id : `{${message.id}}+`
}

/** Chained work: a handler that may still run may use its queue, also while that stops. */
async function callQueue(scene: Scene): Promise<void> {
  const { chance, lease, message, process, world } = scene
  for (let i = chance.whole(1, 3); i > 0; i -= 1) {
    await pass(scene, chance.spread(1, SOON_MS * 10))
    const isCutOff = lease.abortedAt !== undefined
    process.rate.allow(1)
    const call = chance.happens(0.5)
      ? process.queue.get(message.id)
      : process.queue.cancel(`${message.id} next`)
    await call.catch((error: unknown) => {
      if (!isCutOff && error instanceof UsageError)
        world.violations.add(
          'P11',
          `${process.name}: a handler of ${message.id} is refused: ${error.message}`,
        )
      throw error
    })
  }
}
