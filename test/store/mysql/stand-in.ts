/** A server that speaks MySQL's protocol, lets everybody in, and answers as a test tells it: for those that are no MySQL. */
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** The rows of one statement; undefined: it was done, and has none. An error by its number. */
export type StandInReply =
  readonly Readonly<Record<string, string>>[] | { readonly errno: number } | undefined

/** As `mysqld` says them: long passwords, protocol 4.1, with a database, transactions, several statements, plugins. */
const ABILITIES = 0x0000_0001 | 0x0000_0008 | 0x0000_0200 | 0x0000_2000 | 0x0003_8000 | 0x0008_0000
const QUERY = 0x03
const MORE_RESULTS = 0x0008
const TEXT = 0xfd

/** Its URL. It ends with the test. `answer` has a reply for each statement of what came together. */
export async function startStandIn(
  version: string,
  answer: (sql: string) => readonly StandInReply[],
): Promise<string> {
  const open = new Set<Socket>()
  const server = createServer((socket) => {
    open.add(socket.on('error', () => undefined))
    socket.write(packet(0, greeting(version)))
    let isLoggedIn = false
    let unread = Buffer.alloc(0)
    socket.on('data', (chunk) => {
      unread = Buffer.concat([unread, chunk])
      while (unread.length >= 4 && unread.length >= 4 + unread.readUIntLE(0, 3)) {
        const end = 4 + unread.readUIntLE(0, 3)
        const [number = 0, body] = [unread[3], unread.subarray(4, end)]
        unread = unread.subarray(end)
        if (isLoggedIn && body[0] === QUERY)
          socket.write(resultsOf(answer(body.toString('utf8', 1)), number + 1))
        else socket.write(packet(number + 1, ok(0)))
        isLoggedIn = true
      }
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    server.close()
    for (const socket of open) socket.destroy()
  })
  return `mysql://someone@127.0.0.1:${(server.address() as AddressInfo).port}/there`
}

function resultsOf(replies: readonly StandInReply[], first: number): Buffer {
  const bodies = replies.flatMap((reply, index) => {
    const status = index < replies.length - 1 ? MORE_RESULTS : 0
    if (reply === undefined) return [ok(status)]
    return 'errno' in reply ? [refusal(reply.errno)] : rowsOf(reply, status)
  })
  return Buffer.concat(bodies.map((body, index) => packet(first + index, body)))
}

function rowsOf(rows: readonly Readonly<Record<string, string>>[], status: number): Buffer[] {
  const names = Object.keys(rows[0] ?? { empty: '' })
  return [
    Buffer.from([names.length]),
    ...names.map(column),
    endOf(0),
    ...rows.map((row) => Buffer.concat(names.map((name) => text(row[name] ?? '')))),
    endOf(status),
  ]
}

function column(name: string): Buffer {
  const kind = Buffer.from([0x0c, 0xff, 0x00, 0, 4, 0, 0, TEXT, 0, 0, 0, 0, 0])
  return Buffer.concat([text('def'), text(''), text(''), text(''), text(name), text(name), kind])
}

function greeting(version: string): Buffer {
  const abilities = Buffer.alloc(4)
  abilities.writeUInt32LE(ABILITIES)
  const seed = Buffer.from('a seed of 20 letters')
  return Buffer.concat([
    Buffer.from(`\x0a${version}\0`),
    Buffer.from([1, 0, 0, 0]),
    seed.subarray(0, 8),
    Buffer.from([0]),
    abilities.subarray(0, 2),
    Buffer.from([255, 2, 0]),
    abilities.subarray(2),
    Buffer.from([seed.length + 1]),
    Buffer.alloc(10),
    seed.subarray(8),
    Buffer.from('\0mysql_native_password\0'),
  ])
}

function ok(status: number): Buffer {
  return Buffer.from([0, 0, 0, 2 | status, 0, 0, 0])
}

function endOf(status: number): Buffer {
  return Buffer.from([0xfe, 0, 0, 2 | status, 0])
}

function refusal(errno: number): Buffer {
  return Buffer.concat([Buffer.from([0xff, errno & 0xff, errno >> 8]), Buffer.from('#42000no')])
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value)
  return Buffer.concat([Buffer.from([bytes.length]), bytes])
}

function packet(number: number, body: Buffer): Buffer {
  const head = Buffer.alloc(4)
  head.writeUIntLE(body.length, 0, 3)
  head[3] = number
  return Buffer.concat([head, body])
}
