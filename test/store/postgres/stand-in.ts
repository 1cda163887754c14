/** A server that speaks PostgreSQL's protocol and answers as a test tells it: for those that are no PostgreSQL. */
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** A row, by the names of its columns; all of it as text. An error by its SQLSTATE. */
export type StandInAnswer = { readonly row: Readonly<Record<string, string>> } | { readonly error: string }

const TEXT_OID = 25

/** Its URL. It ends with the test. */
export async function startStandIn(
  answer: (sql: string) => StandInAnswer,
  types: Readonly<Record<string, number>> = {},
): Promise<string> {
  const open = new Set<Socket>()
  const server = createServer((socket) => {
    open.add(socket.on('error', () => undefined))
    let unread = Buffer.alloc(0)
    let isGreeted = false
    socket.on('data', (chunk) => {
      unread = Buffer.concat([unread, chunk])
      // The first packet has no letter; every other has one before its length.
      for (;;) {
        const at = isGreeted ? 1 : 0
        const end = unread.length < at + 4 ? Infinity : at + unread.readInt32BE(at)
        if (unread.length < end) return
        const [letter, body] = [unread.toString('latin1', 0, at), unread.subarray(at + 4, end)]
        unread = unread.subarray(end)
        if (!isGreeted) socket.write(Buffer.concat([packet('R', int(0)), ready()]))
        else if (letter === 'Q')
          socket.write(replyTo(answer(body.toString('utf8').replace(/\0$/, '')), types))
        isGreeted = true
      }
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    server.close()
    for (const socket of open) socket.destroy()
  })
  return `postgres://someone@127.0.0.1:${(server.address() as AddressInfo).port}/there`
}

function replyTo(reply: StandInAnswer, types: Readonly<Record<string, number>>): Buffer {
  if ('error' in reply) {
    const fields = `SERROR\0VERROR\0C${reply.error}\0Mno\0\0`
    return Buffer.concat([packet('E', Buffer.from(fields)), ready()])
  }
  const columns = Object.entries(reply.row)
  const head = columns.map(([name]) =>
    Buffer.concat([
      Buffer.from(`${name}\0`),
      int(0),
      short(0),
      int(types[name] ?? TEXT_OID),
      short(-1),
      int(-1),
      short(0),
    ]),
  )
  const cells = columns.map(([, value]) => Buffer.concat([int(Buffer.byteLength(value)), Buffer.from(value)]))
  return Buffer.concat([
    packet('T', Buffer.concat([short(columns.length), ...head])),
    packet('D', Buffer.concat([short(columns.length), ...cells])),
    packet('C', Buffer.from('SELECT 1\0')),
    ready(),
  ])
}

function ready(): Buffer {
  return packet('Z', Buffer.from('I'))
}

function packet(letter: string, body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(letter), int(body.length + 4), body])
}

function int(value: number): Buffer {
  const buffer = Buffer.alloc(4)
  buffer.writeInt32BE(value)
  return buffer
}

function short(value: number): Buffer {
  const buffer = Buffer.alloc(2)
  buffer.writeInt16BE(value)
  return buffer
}
