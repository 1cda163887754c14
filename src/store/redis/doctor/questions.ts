/** How the doctors ask a server, and what they say when it does not tell. */
import { UnavailableError } from '../../../core/errors.ts'
import { warning } from '../../contract/findings.ts'
import type { Finding } from '../../contract/store.ts'
import type { Calls } from '../scripts/calls.ts'

export async function configOf(calls: Calls, name: string): Promise<string | undefined> {
  const reply = await ask(calls, ['CONFIG', 'GET', name])
  return Array.isArray(reply) ? (reply[1] as string | undefined) : undefined
}

/** The reply, or undefined where the server refuses to tell. That it is away is no finding but a failure. */
export async function ask(calls: Calls, command: readonly string[]): Promise<unknown> {
  try {
    return await calls.call(command)
  } catch (error) {
    if (error instanceof UnavailableError) throw error
    return undefined
  }
}

export function hidden(command: string, what: string): Finding {
  return warning(
    `this user may not ask for ${command}, so ${what} could not be checked`,
    `allow the command to this user, or check by hand`,
  )
}

export function parseInfo(info: string): Map<string, string> {
  const fields = new Map<string, string>()
  for (const line of info.split('\r\n')) {
    const colon = line.indexOf(':')
    if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 1))
  }
  return fields
}
