/** What Redis 8 and Valkey say to HELLO before the login where they do not know it; the servers of other tests may be older. */
import { expect, it } from 'vitest'
import { logIn, type Send } from '../../../src/store/redis/link/login.ts'
import { ErrorReply } from '../../../src/store/redis/link/parser.ts'
import type { Login } from '../../../src/store/redis/link/socket.ts'

const NOAUTH = 'NOAUTH Authentication required.'

/** Answers NOAUTH to everything before the right password. */
function locked(words: string[]): Send {
  let isOpen = false
  return async ([word = '', ...rest]) => {
    words.push(word)
    if (word === 'AUTH' && rest.at(-1) === 's3cret') isOpen = true
    else if (word === 'AUTH') throw new ErrorReply('WRONGPASS invalid username-password pair')
    if (!isOpen) throw new ErrorReply(NOAUTH)
    return 'OK'
  }
}

it('NOAUTH to HELLO with a password: it logs in by RESP2', async () => {
  const words: string[] = []
  const login = { password: 's3cret', database: 5 } as Login
  expect(await logIn(locked(words), login, 'punctual:test')).toBe(2)
  expect(words).toEqual(['HELLO', 'SELECT', 'AUTH', 'CLIENT', 'SELECT'])
})

it.each([
  [{ password: 'wrong', database: 0 }, /WRONGPASS/],
  [{ database: 0 }, /NOAUTH/], // Nothing to log in with: that is the reason, and it is told.
])('%j is refused with the server’s reason', async (login, reason) => {
  await expect(logIn(locked([]), login as Login, 'punctual:test')).rejects.toThrow(reason)
})
