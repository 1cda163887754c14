/**
 * Asking sentinels. Each question has a connection of its own, that ends with the answer or after its share of
 * `connectTimeout`: a sentinel that stands still must not keep us from the next one.
 */
import type { Clock } from '../../../clock.ts'
import { UnavailableError, UsageError, type PunctualError } from '../../../core/errors.ts'
import { connectTo, type Connection } from '../link/connection.ts'
import { startDeadline } from '../../link/deadline.ts'
import { toPunctualError } from '../link/refusals.ts'
import { describeGroup, type SentinelGroup } from '../address/sentinel-url.ts'
import { describeAddress, hostAndPort, type Address } from '../address/url.ts'

const CLIENT_NAME = 'punctual:discovery'

export type HostPort = { readonly host: string; readonly port: number }

/** Told of each connection that is made, so that the caller that waits can end it. */
export type Holder = (connection: Connection) => void

export class Sentinels {
  readonly group: SentinelGroup
  readonly #clock: Clock
  readonly #patienceMs: number
  #first = 0

  constructor(group: SentinelGroup, connectTimeoutMs: number, clock: Clock) {
    this.group = group
    this.#clock = clock
    // All of them must have had their turn, and the primary its own, before the attempt to connect is given up.
    this.#patienceMs = connectTimeoutMs / (group.sentinels.length + 1)
  }

  /**
   * Where the primary is, by the first sentinel that knows. Each search begins with another one: a sentinel that is cut
   * off from the others goes on naming the old primary, and must not be the only one that we hear.
   */
  async findPrimary(hold: Holder): Promise<HostPort> {
    const { sentinels, primaryName } = this.group
    const failures: PunctualError[] = []
    const first = this.#first
    this.#first = (first + 1) % sentinels.length
    for (const address of [...sentinels.slice(first), ...sentinels.slice(0, first)]) {
      try {
        const place = placeIn(await this.ask(address, whereIs(primaryName), hold))
        if (place === undefined) throw unknownPrimary(address, primaryName)
        return place
      } catch (error) {
        failures.push(toPunctualError(error, describeSentinel(address)))
      }
    }
    throw this.#nobodyKnows(failures)
  }

  async ask(address: Address, command: readonly string[], hold: Holder = () => undefined): Promise<unknown> {
    const connection = connectTo(address)(CLIENT_NAME, () => undefined)
    hold(connection)
    let isLate = false
    const deadline = startDeadline(this.#clock, this.#patienceMs, () => {
      isLate = true
      connection.destroy()
    })
    try {
      await connection.open()
      return await connection.send(command)
    } catch (error) {
      throw isLate ? noAnswer(address, this.#patienceMs, error) : error
    } finally {
      deadline.cancel()
      connection.destroy()
    }
  }

  /** A wrong password or name does not pass by waiting; the absence of a sentinel does. */
  #nobodyKnows(failures: readonly PunctualError[]): PunctualError {
    const [first] = failures
    if (first !== undefined && failures.every((failure) => failure instanceof UsageError)) return first
    const reasons = failures.map(({ message }) => message).join(' ')
    return new UnavailableError(
      'STORE_UNAVAILABLE',
      `${describeGroup(this.group)}: no sentinel names a primary. ${reasons}`,
      { cause: first },
    )
  }
}

export function whereIs(primaryName: string): readonly string[] {
  return ['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', primaryName]
}

/** What a sentinel answers to that; undefined when it knows no such primary. */
export function placeIn(reply: unknown): HostPort | undefined {
  if (!Array.isArray(reply)) return undefined
  const [host, port] = reply as [string, string]
  return { host, port: Number(port) }
}

export function describeSentinel(address: Address): string {
  return `the sentinel ${describeAddress(address)}`
}

function unknownPrimary(address: Address, name: string): UsageError {
  return new UsageError(
    'STORE_REFUSED',
    `the sentinel ${hostAndPort(address)} watches no primary called "${name}"; the name is in its "sentinel monitor" line.`,
    { value: name },
  )
}

function noAnswer(address: Address, patienceMs: number, cause: unknown): UnavailableError {
  return new UnavailableError(
    'STORE_UNAVAILABLE',
    `the sentinel ${hostAndPort(address)} gave no answer within ${Math.round(patienceMs)} ms.`,
    { cause },
  )
}
