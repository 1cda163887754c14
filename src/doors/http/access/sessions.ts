/**
 * Sessions of browsers: a cookie that no script can read stands for a token. It is signed, and names the hash of the token, so
 * that it is good for as long as that token is, for twelve hours at most, and until somebody logs out. Sessions that ended are
 * remembered by this server; servers that share a key each know of their own. When too many ended, all that were
 * begun until then end: then people log in again, and the memory has a limit.
 */
import type { Clock } from '../../../clock.ts'
import type { Random } from '../../../random.ts'
import type { HttpRequest } from '../wire/request.ts'
import type { Signer } from './signing.ts'

const SESSION_MS = 12 * 3_600_000
const COOKIE = 'punctual_session'
const ENDED_MAX = 10_000

export type Session = {
  readonly id: string
  /** Of its token. */
  readonly hash: string
  readonly begunAt: number
  readonly until: number
}

export type SessionsOptions = {
  readonly signer: Signer
  readonly clock: Clock
  readonly random: Random
  readonly basePath: string
}

export class Sessions {
  readonly #options: SessionsOptions
  /** By id: until when each would have been good. */
  readonly #ended = new Map<string, number>()
  #allEndedBefore = -Infinity

  constructor(options: SessionsOptions) {
    this.#options = options
  }

  /** Answers the header that makes the browser keep it. */
  begin(request: HttpRequest, hash: string): string {
    const { signer, clock, random } = this.#options
    const begunAt = Math.floor(clock.now())
    const id = [random.next(), random.next()]
      .map((chance) => Math.floor(chance * 2 ** 48).toString(36))
      .join('')
    const session: Session = { id, hash, begunAt, until: begunAt + SESSION_MS }
    return this.#cookie(request, signer.sign('session', session), SESSION_MS / 1_000)
  }

  /** The session of the request, whether it is over or not; undefined: none that this server, or one with its key, made. */
  of(request: HttpRequest): Session | undefined {
    const cookie = cookieOf(request.header('cookie'))
    const session = cookie === undefined ? undefined : this.#options.signer.read('session', cookie)
    return isSession(session) ? session : undefined
  }

  isOver({ id, begunAt, until }: Session): boolean {
    return until <= this.#options.clock.now() || begunAt <= this.#allEndedBefore || this.#ended.has(id)
  }

  /** Ends the session of the request, wherever its cookie was copied to; answers the header that takes the cookie back. */
  end(request: HttpRequest): string {
    const session = this.of(request)
    if (session !== undefined && !this.isOver(session)) this.#remember(session)
    return this.#cookie(request, '', 0)
  }

  #remember({ id, until }: Session): void {
    const now = this.#options.clock.now()
    for (const [known, over] of this.#ended) if (over <= now) this.#ended.delete(known)
    if (this.#ended.size < ENDED_MAX) this.#ended.set(id, until)
    else {
      this.#allEndedBefore = now
      this.#ended.clear()
    }
  }

  #cookie(request: HttpRequest, value: string, seconds: number): string {
    // Behind a proxy that ends TLS the browser must not send it in the clear.
    const isSecure = request.header('x-forwarded-proto') === 'https'
    const path = this.#options.basePath === '' ? '/' : this.#options.basePath
    return `${COOKIE}=${value}; Path=${path}; Max-Age=${seconds}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`
  }
}

function cookieOf(header: string | undefined): string | undefined {
  for (const pair of header?.split(';') ?? []) {
    const [name, value] = pair.trim().split('=', 2)
    if (name === COOKIE && value !== undefined && value !== '') return value
  }
  return undefined
}

function isSession(value: unknown): value is Session {
  if (typeof value !== 'object' || value === null) return false
  const { id, hash, begunAt, until } = value as Readonly<Record<string, unknown>>
  return (
    typeof id === 'string' &&
    typeof hash === 'string' &&
    typeof begunAt === 'number' &&
    typeof until === 'number'
  )
}
