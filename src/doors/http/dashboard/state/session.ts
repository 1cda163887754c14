/** Who looks. A viewer without the scope `operate` sees no buttons; the server refuses all the same. */
import { signal } from '@preact/signals'
import { call, troubleOf } from './api.ts'
import type { ServerFacts, Trouble, Viewer } from './wire.ts'

export type SessionState =
  | { readonly kind: 'asking' }
  /** A token is needed. `trouble`: the one that was given is not good. */
  | { readonly kind: 'out'; readonly trouble?: Trouble }
  | { readonly kind: 'unreachable'; readonly trouble: Trouble }
  | { readonly kind: 'in'; readonly viewer: Viewer }

export const session = signal<SessionState>({ kind: 'asking' })
export const server = signal<ServerFacts | undefined>(undefined)

/** Every page asks for what only `read` may see. */
export function mayLook(): boolean {
  return session.value.kind === 'in' && session.value.viewer.scopes.includes('read')
}

export function mayOperate(): boolean {
  return session.value.kind === 'in' && session.value.viewer.scopes.includes('operate')
}

export async function openSession(): Promise<void> {
  try {
    enter(await call<Viewer>('GET', '/v1/session'))
  } catch (error) {
    const trouble = troubleOf(error)
    if (trouble.status === 401) session.value = { kind: 'out' }
    // A page that is shown stays, with its last numbers.
    else if (session.value.kind !== 'in') session.value = { kind: 'unreachable', trouble }
  }
}

/** The token travels once; a cookie that no script can read stands for it afterwards. */
export async function logIn(token: string): Promise<void> {
  try {
    const headers = { authorization: `Bearer ${token}` }
    enter(await call<Viewer>('POST', '/v1/session', { body: {}, headers }))
  } catch (error) {
    session.value = { kind: 'out', trouble: troubleOf(error) }
  }
}

export async function logOut(): Promise<void> {
  await call('DELETE', '/v1/session')
  session.value = { kind: 'out' }
}

/** Nothing waits for what the server is called. */
function enter(viewer: Viewer): void {
  session.value = { kind: 'in', viewer }
  call<ServerFacts>('GET', '/v1/server').then(
    (facts) => (server.value = facts),
    () => undefined,
  )
}
