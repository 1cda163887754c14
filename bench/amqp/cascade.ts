/**
 * The peers on RabbitMQ alone. `naive`: one queue, a TTL per message, dead letters to the target. `cascade`: the twin of what
 * NServiceBus and Celery build, 28 levels, one for each bit of the delay:
 *
 *   exchange 27 ─1─► queue 27 (TTL 2^27) ─expired─► exchange 26 ─1─► queue 26 …
 *        └────0──────────────────────────────────────►┘ └─0─► …          … ─► target
 *
 * Quorum queues with at-least-once dead-lettering, as NServiceBus has it: anything less can lose messages.
 */
import type { Channel } from 'amqplib'

export const LEVELS = 28

const AT_LEAST_ONCE = {
  'x-queue-type': 'quorum',
  'x-dead-letter-strategy': 'at-least-once',
  'x-overflow': 'reject-publish',
} as const

export async function declareNaive(channel: Channel, name: string, target: string): Promise<void> {
  await channel.assertQueue(name, {
    durable: true,
    arguments: { ...AT_LEAST_ONCE, 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': target },
  })
}

export type Cascade = { readonly prefix: string; readonly unitMs: number; readonly target: string }

export async function declareCascade(channel: Channel, { prefix, unitMs, target }: Cascade): Promise<void> {
  const exchange = (level: number): string => `${prefix}.${level}`
  for (let level = 0; level < LEVELS; level += 1) await channel.assertExchange(exchange(level), 'topic')
  await channel.assertExchange(`${prefix}.out`, 'topic')
  await channel.bindQueue(target, `${prefix}.out`, `#.${target}`)
  for (let level = 0; level < LEVELS; level += 1) {
    const next = level === 0 ? `${prefix}.out` : exchange(level - 1)
    const before = '*.'.repeat(LEVELS - 1 - level)
    await channel.assertQueue(exchange(level), {
      durable: true,
      arguments: { ...AT_LEAST_ONCE, 'x-dead-letter-exchange': next, 'x-message-ttl': 2 ** level * unitMs },
    })
    await channel.bindQueue(exchange(level), exchange(level), `${before}1.#`)
    await channel.bindExchange(next, exchange(level), `${before}0.#`)
  }
}

/** Takes what still waits with it, so that it does not disturb who comes next. */
export async function deleteCascade(channel: Channel, { prefix }: Cascade): Promise<void> {
  for (let level = 0; level < LEVELS; level += 1) {
    await channel.deleteQueue(`${prefix}.${level}`)
    await channel.deleteExchange(`${prefix}.${level}`)
  }
  await channel.deleteExchange(`${prefix}.out`)
}

/** Enters at the highest 1, as the original does. */
export function cascadeEntry(
  { prefix, unitMs, target }: Cascade,
  delayMs: number,
): { exchange: string; key: string } {
  // Whole seconds are asked for as such; the time that it takes to ask must not make one more of them.
  const units = Math.max(0, unitMs === 1 ? Math.ceil(delayMs) : Math.round(delayMs / unitMs))
  const bits = units.toString(2).padStart(LEVELS, '0')
  const highest = LEVELS - 1 - Math.max(0, bits.indexOf('1'))
  return {
    exchange: units === 0 ? `${prefix}.out` : `${prefix}.${highest}`,
    key: `${bits.split('').join('.')}.${target}`,
  }
}
