/**
 * Who a request comes from. Three ways in, the first that is given decides:
 *
 *   access      the host application says who it is (mounted form)
 *   tokens      `Authorization: Bearer`, or the cookie that POST /v1/session made of one
 *   neither     everybody on this machine, if the server listens on loopback; nobody, if it is mounted somewhere
 */
import type { Clock } from '../../../clock.ts'
import { assertNever } from '../../../core/errors.ts'
import { HttpRefusal } from '../wire/problem.ts'
import type { HttpRequest } from '../wire/request.ts'
import type { Admission } from '../table/route.ts'
import { ANYBODY, LOCAL, type Caller, type Scope } from './caller.ts'
import type { Signer } from './signing.ts'
import { hashToken, type Tokens } from './tokens.ts'

/** What the host application says of a request: its scopes, or a caller with more; undefined: nobody. */
export type AccessAnswer = readonly Scope[] | Caller | undefined
export type AccessCheck = (request: unknown) => AccessAnswer | Promise<AccessAnswer>

export type AccessMode =
  | { readonly kind: 'host'; readonly check: AccessCheck }
  | { readonly kind: 'tokens'; readonly tokens: () => Tokens }
  | { readonly kind: 'open' | 'closed' }

const SESSION_MS = 12 * 3_600_000
const COOKIE = 'punctual_session'

export class Access {
  readonly #mode: AccessMode
  readonly #signer: Signer
  readonly #clock: Clock
  readonly #basePath: string

  constructor(
    mode: AccessMode,
    { signer, clock, basePath }: { signer: Signer; clock: Clock; basePath: string },
  ) {
    this.#mode = mode
    this.#signer = signer
    this.#clock = clock
    this.#basePath = basePath
  }

  get isOpen(): boolean {
    return this.#mode.kind === 'open'
  }

  /** Throws or rejects unless the caller may use a route with this admission. A promise only where a host is asked. */
  admit(request: HttpRequest, needed: Admission): Caller | Promise<Caller> {
    if (needed === 'none') return ANYBODY
    const found = this.#identify(request)
    return found instanceof Promise ? found.then((who) => admitted(who, needed)) : admitted(found, needed)
  }

  #identify(request: HttpRequest): Caller | undefined | Promise<Caller | undefined> {
    const mode = this.#mode
    switch (mode.kind) {
      case 'open':
        return LOCAL
      case 'closed':
        throw new HttpRefusal(
          'FORBIDDEN',
          'serve() was given neither "access" nor "tokens": nobody may call.',
        )
      case 'tokens':
        return this.#byToken(request, mode.tokens())
      case 'host':
        return askHost(mode.check, request)
      default:
        return assertNever(mode)
    }
  }

  #byToken(request: HttpRequest, tokens: Tokens): Caller | undefined {
    const now = this.#clock.now()
    const token = bearerOf(request)
    if (token !== undefined) return tokens.find(token, now)
    const cookie = cookieOf(request.header('cookie'))
    const session = cookie === undefined ? undefined : this.#signer.read('session', cookie)
    return isSession(session) && session.until > now ? tokens.findHash(session.hash, now) : undefined
  }

  /** The header that begins a session: of the token that the request carries. */
  beginSession(request: HttpRequest): string | undefined {
    const token = bearerOf(request)
    if (this.#mode.kind !== 'tokens' || token === undefined) return undefined
    const until = Math.floor(this.#clock.now()) + SESSION_MS
    const value = this.#signer.sign('session', { hash: hashToken(token), until })
    return this.#cookie(request, value, SESSION_MS / 1_000)
  }

  endSession(request: HttpRequest): string {
    return this.#cookie(request, '', 0)
  }

  #cookie(request: HttpRequest, value: string, seconds: number): string {
    // Behind a proxy that ends TLS the browser must not send it in the clear.
    const isSecure = request.header('x-forwarded-proto') === 'https'
    const path = this.#basePath === '' ? '/' : this.#basePath
    return `${COOKIE}=${value}; Path=${path}; Max-Age=${seconds}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`
  }
}

async function askHost(check: AccessCheck, request: HttpRequest): Promise<Caller | undefined> {
  const answer = await check(request.original)
  return isScopes(answer) ? { name: 'host', scopes: answer } : answer
}

function admitted(who: Caller | undefined, needed: Exclude<Admission, 'none'>): Caller {
  if (who === undefined) throw unauthorized()
  if (needed === 'any' || who.scopes.includes(needed)) return who
  throw new HttpRefusal('FORBIDDEN', `this needs the scope "${needed}"; yours: ${who.scopes.join(', ')}.`)
}

function unauthorized(): HttpRefusal {
  return new HttpRefusal('UNAUTHORIZED', 'this needs a token: send "Authorization: Bearer TOKEN".', {
    'www-authenticate': 'Bearer',
  })
}

const BEARER = /^Bearer +([\x21-\x7e]+) *$/i

function bearerOf(request: HttpRequest): string | undefined {
  const header = request.header('authorization')
  return header === undefined ? undefined : BEARER.exec(header)?.[1]
}

function cookieOf(header: string | undefined): string | undefined {
  for (const pair of header?.split(';') ?? []) {
    const [name, value] = pair.trim().split('=', 2)
    if (name === COOKIE && value !== undefined && value !== '') return value
  }
  return undefined
}

function isSession(value: unknown): value is { hash: string; until: number } {
  return (
    typeof value === 'object' &&
    value !== null &&
    'hash' in value &&
    typeof value.hash === 'string' &&
    'until' in value &&
    typeof value.until === 'number'
  )
}

function isScopes(answer: AccessAnswer): answer is readonly Scope[] {
  return Array.isArray(answer)
}
