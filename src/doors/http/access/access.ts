/**
 * Who a request comes from. Three ways in, the first that is given decides:
 *
 *   access      the host application says who it is (mounted form)
 *   tokens      `Authorization: Bearer`, or the cookie that POST /v1/session made of one
 *   neither     everybody on this machine, if the server listens on loopback; no caller, if it is mounted somewhere
 */
import type { Clock } from '../../../clock.ts'
import { assertNever } from '../../../core/errors.ts'
import { HttpRefusal } from '../wire/problem.ts'
import type { HttpRequest } from '../wire/request.ts'
import type { Admission } from '../table/route.ts'
import { ANYBODY, LOCAL, type Caller, type Scope } from './caller.ts'
import { OpenCalls, type OpenCall } from './open-calls.ts'
import { CallRates } from './rates.ts'
import type { Sessions } from './sessions.ts'
import { hashToken, type Tokens } from './tokens.ts'

/** What the host application says of a request: its scopes, or a caller with more; undefined: may not call. */
export type AccessAnswer = readonly Scope[] | Caller | undefined
export type AccessCheck = (request: unknown) => AccessAnswer | Promise<AccessAnswer>

export type AccessMode =
  | { readonly kind: 'host'; readonly check: AccessCheck }
  | { readonly kind: 'tokens'; readonly tokens: () => Tokens }
  | { readonly kind: 'open' | 'closed' }

/** Wrong tokens from one address: so many at once, then one in so much time. The right one is let in all the same. */
const GUESSES = { burst: 10, intervalMs: 6_000, namesMax: 10_000 }

export class Access {
  readonly #mode: AccessMode
  readonly #clock: Clock
  readonly #sessions: Sessions
  readonly #openCalls: OpenCalls
  readonly #guesses: CallRates

  constructor(mode: AccessMode, clock: Clock, sessions: Sessions) {
    this.#mode = mode
    this.#clock = clock
    this.#sessions = sessions
    this.#openCalls = new OpenCalls(clock)
    this.#guesses = new CallRates(clock, GUESSES)
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

  /** For a call that stays open longer than the look at who made it. */
  openCall(request: HttpRequest, who: Caller): OpenCall {
    const mode = this.#mode
    if (mode.kind !== 'tokens') return NEVER_OVER
    const find = this.#finder(request)
    const before = JSON.stringify(who)
    return this.#openCalls.open(() => {
      const found = find(mode.tokens())
      return found !== who && JSON.stringify(found) !== before
    })
  }

  #identify(request: HttpRequest): Caller | undefined | Promise<Caller | undefined> {
    const mode = this.#mode
    switch (mode.kind) {
      case 'open':
        return LOCAL
      case 'closed':
        throw new HttpRefusal(
          'FORBIDDEN',
          'serve() was given neither "access" nor "tokens": no caller is let in.',
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
    const found = this.#finder(request)(tokens)
    if (found === undefined && bearerOf(request) !== undefined) this.#slowDown(request.address)
    return found
  }

  /** Who the request comes from, as the tokens are then: what it shows is read once. */
  #finder(request: HttpRequest): (tokens: Tokens) => Caller | undefined {
    const token = bearerOf(request)
    if (token !== undefined) return (tokens) => tokens.find(token, this.#clock.now())
    const session = this.#sessions.of(request)
    if (session === undefined) return () => undefined
    return (tokens) =>
      this.#sessions.isOver(session) ? undefined : tokens.findHash(session.hash, this.#clock.now())
  }

  #slowDown(address: string): void {
    const waitMs = this.#guesses.take(address)
    if (waitMs === 0) return
    throw new HttpRefusal('RATE_LIMITED', 'too many wrong tokens from this address; check the token.', {
      'retry-after': String(Math.ceil(waitMs / 1_000)),
    })
  }

  /** The header that begins a session: of the token that the request carries. */
  beginSession(request: HttpRequest): string | undefined {
    const token = bearerOf(request)
    if (this.#mode.kind !== 'tokens' || token === undefined) return undefined
    return this.#sessions.begin(request, hashToken(token))
  }

  endSession(request: HttpRequest): string {
    return this.#sessions.end(request)
  }
}

/** Who may call does not change there, or is the host application's business. */
const NEVER_OVER: OpenCall = { isOver: () => false, whenOver: () => () => undefined }

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
  return new HttpRefusal('UNAUTHORIZED', 'this needs a token: send "Authorization: Bearer TOKEN".', CHALLENGE)
}

/** The end of a call whose token went away or changed while it was open. */
export function tokenGone(): HttpRefusal {
  return new HttpRefusal(
    'UNAUTHORIZED',
    'the token of this call was taken back, changed or has expired; call again with one that is good.',
    CHALLENGE,
  )
}

const CHALLENGE = { 'www-authenticate': 'Bearer' }

const BEARER = /^Bearer +([\x21-\x7e]+) *$/i

function bearerOf(request: HttpRequest): string | undefined {
  const header = request.header('authorization')
  return header === undefined ? undefined : BEARER.exec(header)?.[1]
}

function isScopes(answer: AccessAnswer): answer is readonly Scope[] {
  return Array.isArray(answer)
}
