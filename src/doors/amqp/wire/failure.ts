/** What goes wrong between the bridge and the broker, sorted by what can be done about it. */
import { UnavailableError, UsageError, type PunctualError } from '../../../core/errors.ts'

/** Reply codes of AMQP 0-9-1. */
const REPLY = { accessRefused: 403, notFound: 404, preconditionFailed: 406, notAllowed: 530 } as const

/** The reply code that the broker closed a channel or a connection with; undefined for anything else. */
export function replyCodeOf(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined
  return typeof error.code === 'number' ? error.code : undefined
}

export function isNotFound(error: unknown): boolean {
  return replyCodeOf(error) === REPLY.notFound
}

/** Whether waiting does not help: somebody has to change something. */
export function isRefusal(error: unknown): boolean {
  return error instanceof UsageError
}

/** An error of the client library while connecting or declaring, as one of ours. `doing` completes "while …". */
export function brokerError(error: unknown, urlShown: string, doing: string): PunctualError {
  if (error instanceof UsageError || error instanceof UnavailableError) return error
  const text = error instanceof Error ? error.message : String(error)
  switch (replyCodeOf(error) ?? handshakeCodeOf(text)) {
    case REPLY.accessRefused:
    case REPLY.notAllowed:
      return new UsageError(
        'BROKER_REFUSED',
        `${urlShown} refuses the bridge while ${doing} (${text}). Check user, password, virtual host, and the user's rights: configure, write and read on "punctual.v1.*" and on both exchanges.`,
        { cause: error },
      )
    case REPLY.preconditionFailed:
      return new UsageError(
        'BROKER_MISMATCH',
        `${urlShown} has something else by this name while ${doing} (${text}). Delete the old exchange or queue when it is empty, or choose another name.`,
        { cause: error },
      )
    case REPLY.notFound:
      return new UsageError(
        'BROKER_MISMATCH',
        `${urlShown} lacks what the bridge needs while ${doing} (${text}). Declare it first.`,
        { cause: error },
      )
    default:
      return new UnavailableError(
        'BROKER_UNAVAILABLE',
        `${urlShown} does not answer while ${doing}: ${text}`,
        {
          cause: error,
        },
      )
  }
}

/**
 * During the handshake the library puts the broker's reply code into the text of its error, or drops it: a broker
 * that closes instead of opening a virtual host does not have it, or does not let this user in.
 */
function handshakeCodeOf(text: string): number | undefined {
  if (text.startsWith('Expected ConnectionOpenOk; got <ConnectionClose')) return REPLY.notAllowed
  const code = /^Handshake terminated by server: (\d{3})/.exec(text)?.[1]
  return code === undefined ? undefined : Number(code)
}
