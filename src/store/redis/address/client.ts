/** A client of the package `redis` that the user has: its settings are used, on connections of punctual's own. */
import { UsageError } from '../../../core/errors.ts'

export type ExistingClient = {
  readonly options?: unknown
  duplicate(overrides?: object): unknown
  sendCommand: unknown
}

/** Throws for the package's other clients: they send a call again by themselves, and hide their settings. */
export function isExistingClient(value: object): value is ExistingClient {
  if (hasMethod(value, 'getMasterNode')) {
    throw refusal(value, 'createSentinel', 'redis+sentinel://host1,host2,host3/mymaster')
  }
  if (hasMethod(value, 'nodeClient')) {
    throw refusal(value, 'createCluster', 'redis+cluster://host1,host2,host3')
  }
  return hasMethod(value, 'duplicate') && hasMethod(value, 'sendCommand')
}

function hasMethod(value: object, name: string): boolean {
  return typeof (value as Readonly<Record<string, unknown>>)[name] === 'function'
}

function refusal(value: object, maker: string, instead: string): UsageError {
  return new UsageError(
    'STORE_INVALID',
    `store is a client made by ${maker}, whose settings cannot be read; give a URL instead: ${instead}.`,
    { value },
  )
}
