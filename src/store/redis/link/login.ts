/**
 * The first words on a connection: the protocol, user and password, the name that CLIENT LIST shows, the database.
 *
 *   HELLO 3 AUTH user password SETNAME name · SELECT 3      one round trip
 *   AUTH user password · CLIENT SETNAME name · SELECT 3     where HELLO is not known or not allowed: RESP2
 *
 * A server that does not know a command may quote it, password and all. Such a text is not passed on.
 */
import { ErrorReply, ProtocolError } from './parser.ts'
import { refusalWord } from './refusals.ts'
import type { Login } from './socket.ts'

export type Protocol = 2 | 3
export type Send = (command: readonly string[]) => Promise<unknown>

/** HELLO is refused with one of these where it is unknown, another protocol is wanted, or this user may not use it. */
const WITHOUT_HELLO: ReadonlySet<string> = new Set(['ERR', 'NOPROTO', 'NOPERM'])
/** Fewer characters of a password may stand in a text by chance. */
const QUOTED_MIN = 3

export async function logIn(send: Send, login: Login, name: string): Promise<Protocol> {
  try {
    await hello(send, login, name)
    return 3
  } catch (error) {
    if (!mayGoWithoutHello(refusalWord(error), login)) throw discreet(error, login)
    await logInByResp2(send, login, name, discreet(error, login))
    return 2
  }
}

/** Redis 8 and Valkey do not say before the login that a command is unknown, only that a login is needed. */
function mayGoWithoutHello(word: string, { password }: Login): boolean {
  return WITHOUT_HELLO.has(word) || (word === 'NOAUTH' && password !== undefined)
}

async function hello(send: Send, login: Login, name: string): Promise<void> {
  const { username = 'default', password } = login
  const auth = password === undefined ? [] : ['AUTH', username, password]
  const [greeting] = await together([
    send(['HELLO', '3', ...auth, 'SETNAME', name]),
    ...selectDatabase(send, login),
  ])
  const isGreeting = Array.isArray(greeting) && greeting.includes('proto')
  if (!isGreeting) throw new ProtocolError('an answer to HELLO that is not one')
}

async function logInByResp2(send: Send, login: Login, name: string, refusal: unknown): Promise<void> {
  const { username, password } = login
  const user = username === undefined ? [] : [username]
  const auth = password === undefined ? [] : [send(['AUTH', ...user, password])]
  const named = send(['CLIENT', 'SETNAME', name]).catch((error: unknown) => {
    // The name is for people, and not every proxy lets it through.
    if (!(error instanceof ErrorReply)) throw error
  })
  try {
    await together([...auth, named, ...selectDatabase(send, login)])
  } catch (error) {
    if (error instanceof ErrorReply) throw discreet(error, login)
    // A server that is full says so instead of answering HELLO, and hangs up.
    throw new Error(`the connection ended after "${String(refusal)}"`, { cause: error })
  }
}

function selectDatabase(send: Send, { database }: Login): Promise<unknown>[] {
  return database === 0 ? [] : [send(['SELECT', String(database)])]
}

/** Sent at once; the first failure in the order of the commands is the reason for those behind it. */
async function together(replies: readonly Promise<unknown>[]): Promise<unknown[]> {
  const settled = await Promise.allSettled(replies)
  const failed = settled.find((one) => one.status === 'rejected')
  if (failed !== undefined) throw failed.reason
  return settled.map((one) => (one.status === 'fulfilled' ? one.value : undefined))
}

function discreet(error: unknown, { password }: Login): unknown {
  if (!(error instanceof ErrorReply) || password === undefined) return error
  if (!onOneLine(error.message).includes(onOneLine(password).slice(0, QUOTED_MIN))) return error
  const word = refusalWord(error)
  return new ErrorReply(`${word} the text of this refusal may repeat the password and is not shown`)
}

/** Redis writes a line break inside a quoted argument as blanks. */
function onOneLine(text: string): string {
  return text.replaceAll(/[\r\n]/g, ' ')
}
