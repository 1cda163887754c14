/**
 * A letter to the future, sent over real SMTP when its moment comes. It waits on the disk meanwhile: the queue that
 * took it is gone when another one, on the same directory, sends it.
 *
 *   npm run example future-mail
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import { Punctual } from 'punctual'
import { startSmtpServer } from './smtp-server.ts'

type Topics = { 'mail.send': { to: string; subject: string; text: string } }

const directory = await mkdtemp(join(tmpdir(), 'punctual-mail-'))
const store = `file:${directory}`

// Today: the letter is written.
const today = new Punctual<Topics>(store)
const at = new Date(Date.now() + 1_500) // Or new Date('2030-01-01T09:00Z').
const letter = { to: 'me@example.org', subject: 'Do you still like tea?', text: 'I wonder.' }
await today.produce('mail.send', letter, { at, id: 'letter-1' })
await today.stop()
console.log(`written, to be sent at ${at.toISOString()}`)

// Some day: it is sent.
const arrived: string[] = []
const server = await startSmtpServer((source) => arrived.push(source))
const transport = createTransport({ host: '127.0.0.1', port: server.port, ignoreTLS: true })
const someDay = new Punctual<Topics>(store)
someDay.handle('mail.send', async ({ id, payload }) => {
  // The same Message-ID at every attempt: a mailbox can tell a repeated letter from a new one.
  await transport.sendMail({ from: 'past@example.org', messageId: `<${id}@example.org>`, ...payload })
})
const sent = new Promise<number>((resolve) =>
  someDay.on('completed', ({ latenessMs }) => resolve(latenessMs)),
)
await someDay.start()
console.log(`sent, ${(await sent).toFixed(1)} ms after its moment`)
await someDay.stop()

console.log(arrived.join('\n').replaceAll('\r\n', '\n'))
transport.close()
server.close()
await rm(directory, { recursive: true })
