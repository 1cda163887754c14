/** As much of an SMTP server as a mail needs to arrive: one connection at a time per socket, everything accepted. */
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'

export type SmtpServer = { readonly port: number; readonly close: () => void }

const END_OF_MAIL = '\r\n.\r\n'

export async function startSmtpServer(onMail: (source: string) => void): Promise<SmtpServer> {
  const server = createServer((socket) => converse(socket, onMail))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { port: (server.address() as AddressInfo).port, close: () => void server.close() }
}

function converse(socket: Socket, onMail: (source: string) => void): void {
  let received = ''
  let isMail = false
  const say = (line: string): boolean => socket.write(`${line}\r\n`)
  say('220 localhost waits for letters')
  socket.on('data', (chunk) => {
    received += chunk.toString()
    for (;;) {
      const end = received.indexOf(isMail ? END_OF_MAIL : '\r\n')
      if (end === -1) return
      const text = received.slice(0, end)
      received = received.slice(end + (isMail ? END_OF_MAIL.length : 2))
      if (isMail) {
        onMail(text)
        say('250 taken')
        isMail = false
      } else {
        isMail = text.toUpperCase() === 'DATA'
        say(isMail ? '354 go on, end with a dot' : text.toUpperCase() === 'QUIT' ? '221 bye' : '250 fine')
      }
    }
  })
  socket.on('error', () => undefined)
}
