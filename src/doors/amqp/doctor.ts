/**
 * What an operator should know about the broker. Most can be asked over AMQP; bindings and policies only of the
 * management plugin, so they are looked at where its URL is given. Nothing is created that is not there.
 */
import type { ChannelModel } from 'amqplib'
import { sleep } from '../../clock.ts'
import { formatDuration } from '../../core/input/duration.ts'
import type { Finding, Punctual } from '../../index.ts'
import { Management } from './management.ts'
import type { BridgeSettings } from './options.ts'
import { declareExchange, declareQueue, onChannel, queueNames } from './topology.ts'
import { brokerVersion, dial, hangUp } from './wire/dial.ts'
import { brokerError, isNotFound } from './wire/failure.ts'

const DEPTH_MAX = 10_000
const ALARM_WAIT_MS = 2_000
const UNROUTABLE_LOOK = 100
/** The first with quorum queues that honour `expiration` and dead-letter at least once. */
const VERSION_MIN = [3, 10] as const

export async function examine(settings: BridgeSettings, queue: Punctual): Promise<Finding[]> {
  const { urlShown, clock } = settings
  let connection: ChannelModel
  try {
    connection = await dial({ ...settings, name: 'punctual doctor' })
  } catch (error) {
    return [{ level: 'problem', what: brokerError(error, urlShown, 'connecting').message }]
  }
  try {
    return [
      examineVersion(connection),
      ...(await examineQueues(connection, settings)),
      ...(await examineRoutes(connection, settings)),
      await examineAlarms(connection, settings),
      ...(await examineUnroutable(settings, queue)),
      ...(await examineBindings(settings)),
    ]
  } catch (error) {
    return [{ level: 'problem', what: brokerError(error, urlShown, 'examining it').message }]
  } finally {
    await hangUp(connection, clock)
  }
}

function examineVersion(connection: ChannelModel): Finding {
  const version = brokerVersion(connection)
  const [major = 0, minor = 0] = (/(\d+)\.(\d+)/.exec(version) ?? []).slice(1).map(Number)
  const isOld = major < VERSION_MIN[0] || (major === VERSION_MIN[0] && minor < VERSION_MIN[1])
  if (!isOld) return { level: 'fine', what: `the broker is ${version}` }
  return {
    level: 'problem',
    what: `the broker is ${version}`,
    remedy: `use RabbitMQ ${VERSION_MIN.join('.')} or newer`,
  }
}

async function examineQueues(connection: ChannelModel, settings: BridgeSettings): Promise<Finding[]> {
  const names = queueNames(settings.queueName)
  const findings: Finding[] = []
  for (const role of ['in', 'control', 'refused'] as const) {
    findings.push(...(await examineQueue(connection, settings, role, names[role])))
  }
  return findings
}

async function examineQueue(
  connection: ChannelModel,
  { queueName, urlShown }: BridgeSettings,
  role: 'in' | 'control' | 'refused',
  name: string,
): Promise<Finding[]> {
  try {
    const { messageCount, consumerCount } = await onChannel(connection, (channel) => channel.checkQueue(name))
    await onChannel(connection, (channel) => declareQueue(channel, queueName, role)) // It is there: this only compares.
    if (role === 'refused') return [refusedFinding(name, messageCount)]
    return [depthFinding(name, messageCount), consumersFinding(name, consumerCount)]
  } catch (error) {
    if (!isNotFound(error))
      return [{ level: 'problem', what: brokerError(error, urlShown, `looking at queue "${name}"`).message }]
    return [
      {
        level: 'warning',
        what: `the queue "${name}" does not exist yet`,
        remedy: 'a bridge declares it when it starts',
      },
    ]
  }
}

function depthFinding(name: string, count: number): Finding {
  const what = `${count} messages wait in "${name}", a quorum queue`
  if (count <= DEPTH_MAX) return { level: 'fine', what }
  return {
    level: 'warning',
    what,
    remedy: 'the bridges are behind: look at the store, or start another bridge',
  }
}

function consumersFinding(name: string, count: number): Finding {
  if (count > 0) return { level: 'fine', what: `${count} of the bridges consume from "${name}"` }
  return { level: 'warning', what: `no bridge consumes from "${name}"`, remedy: 'start one: punctual bridge' }
}

function refusedFinding(name: string, count: number): Finding {
  if (count === 0) return { level: 'fine', what: `no message was refused ("${name}" is empty)` }
  return {
    level: 'warning',
    what: `${count} refused messages in "${name}"`,
    remedy: 'their header x-refused-reason says why; what the broker took out itself has x-death instead',
  }
}

async function examineRoutes(
  connection: ChannelModel,
  { routes, urlShown }: BridgeSettings,
): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const { from, to } of routes) {
    try {
      await onChannel(connection, (channel) => channel.checkExchange(from))
      await onChannel(connection, (channel) => declareExchange(channel, from))
      findings.push({ level: 'fine', what: `publishers can use exchange "${from}", durable, type topic` })
    } catch (error) {
      findings.push(
        isNotFound(error)
          ? {
              level: 'warning',
              what: `the exchange "${from}" does not exist yet`,
              remedy: 'a bridge declares it when it starts',
            }
          : { level: 'problem', what: brokerError(error, urlShown, `looking at exchange "${from}"`).message },
      )
    }
    if (to === '') continue
    try {
      await onChannel(connection, (channel) => channel.checkExchange(to))
      findings.push({ level: 'fine', what: `the target exchange "${to}" exists` })
    } catch (error) {
      findings.push({
        level: 'problem',
        what: brokerError(error, urlShown, `looking at exchange "${to}"`).message,
      })
    }
  }
  return findings
}

/** A broker with an alarm says so to whom publishes, and only then: one message to a queue that ends with us. */
async function examineAlarms(connection: ChannelModel, { clock }: BridgeSettings): Promise<Finding> {
  const channel = await connection.createConfirmChannel()
  channel.on('error', () => undefined)
  const { queue } = await channel.assertQueue('', { exclusive: true, autoDelete: true })
  const over = new AbortController()
  let reason: string | undefined
  connection.on('blocked', (why: string) => {
    reason = why
    over.abort()
  })
  let isConfirmed = false
  channel.sendToQueue(queue, Buffer.from('punctual doctor'), {}, (error: unknown) => {
    isConfirmed = error === null
    over.abort()
  })
  await sleep(clock, ALARM_WAIT_MS, over.signal)
  if (isConfirmed) return { level: 'fine', what: 'the broker takes messages: no alarm' }
  const why = reason ?? `no confirm within ${formatDuration(ALARM_WAIT_MS)}`
  return {
    level: 'problem',
    what: `the broker takes no messages: ${why}`,
    remedy: 'free memory or disk on the broker; until then what is due waits in punctual',
  }
}

async function examineUnroutable({ routes }: BridgeSettings, queue: Punctual): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const { from, to } of routes) {
    const { items } = await queue.list({ state: 'dead', topic: from, limit: UNROUTABLE_LOOK })
    const count = items.filter(({ reason }) => reason === 'unroutable').length
    if (count === 0) continue
    const many = count === UNROUTABLE_LOOK ? `${count} or more` : String(count)
    findings.push({
      level: 'warning',
      what: `${many} messages of "${from}" are dead because no queue was bound to "${to}" for their key`,
      remedy: `bind a queue, then: punctual revive --topic ${from}`,
    })
  }
  return findings
}

async function examineBindings(settings: BridgeSettings): Promise<Finding[]> {
  const { management, routes, queueName } = settings
  if (management === undefined) {
    return [
      {
        level: 'fine',
        what: 'bindings and policies were not looked at: give the URL of the management plugin (--management)',
      },
    ]
  }
  try {
    const api = new Management(management, settings.url)
    const findings: Finding[] = []
    for (const { to } of routes) if (to !== '') findings.push(await examineTarget(api, to))
    return [...findings, ...(await examinePolicy(api, queueNames(queueName).in))]
  } catch (error) {
    return [
      {
        level: 'warning',
        what: `the management plugin did not answer: ${error instanceof Error ? error.message : String(error)}`,
        remedy: 'check its URL, user and password',
      },
    ]
  }
}

async function examineTarget(api: Management, to: string): Promise<Finding> {
  const count = await api.bindingsFrom(to)
  if (count > 0) return { level: 'fine', what: `${count} bindings lead on from exchange "${to}"` }
  return {
    level: 'problem',
    what: `nothing is bound to exchange "${to}": every message will be returned`,
    remedy: 'bind the queues of your consumers to it',
  }
}

/** What an operator's policy may do to our queue behind our back. */
async function examinePolicy(api: Management, name: string): Promise<Finding[]> {
  const harmful = ['message-ttl', 'expires', 'max-length', 'max-length-bytes', 'delivery-limit']
  const set = (await api.policyKeys(name)).filter((key) => harmful.includes(key))
  if (set.length === 0) return [{ level: 'fine', what: `no policy shortens "${name}"` }]
  return [
    {
      level: 'problem',
      what: `a policy sets ${set.join(', ')} on "${name}"`,
      remedy: 'take queues that begin with "punctual." out of its pattern',
    },
  ]
}
