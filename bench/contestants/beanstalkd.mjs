// beanstalkd over its plain protocol, pipelined; one connection per 100 reservations, as its clients do. Delays are
// whole seconds by protocol: its lateness is what that costs.
import { connect } from 'node:net'

/** A line-and-body protocol: commands answered in order. */
class Connection {
  #socket
  #buffer = Buffer.alloc(0)
  #waiting = []

  static async open(port) {
    const connection = new Connection()
    connection.#socket = connect(port, '127.0.0.1')
    connection.#socket.setNoDelay(true)
    connection.#socket.on('data', (chunk) => connection.#read(chunk))
    await new Promise((resolve, reject) => connection.#socket.once('connect', resolve).once('error', reject))
    connection.#socket.on('error', () => {})
    return connection
  }

  send(text) {
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
      this.#socket.write(text)
    })
  }

  close() {
    this.#socket.destroy()
  }

  #read(chunk) {
    this.#buffer = this.#buffer.length === 0 ? chunk : Buffer.concat([this.#buffer, chunk])
    for (;;) {
      const end = this.#buffer.indexOf('\r\n')
      if (end === -1) return
      const words = this.#buffer.toString('latin1', 0, end).split(' ')
      let next = end + 2
      let body
      if (words[0] === 'RESERVED') {
        const size = Number(words[2])
        if (this.#buffer.length < next + size + 2) return
        body = this.#buffer.toString('utf8', next, next + size)
        next += size + 2
      }
      this.#buffer = this.#buffer.subarray(next)
      this.#waiting.shift()?.({ words, body })
    }
  }
}

function putText(message) {
  const body = JSON.stringify(message)
  const delay = message.dueAt === 0 ? 0 : Math.max(0, Math.ceil((message.dueAt - Date.now()) / 1000))
  return `put 1 ${delay} 60 ${Buffer.byteLength(body)}\r\n${body}\r\n`
}

export const contestants = {
  beanstalkd: {
    name: 'beanstalkd',
    server: 'beanstalkd',
    isCoarse: true,
    note: 'delays in whole seconds',
    async openProducer({ port, queue }) {
      const connection = await Connection.open(port)
      await connection.send(`use ${queue}\r\n`)
      const put = async (message) => {
        const { words } = await connection.send(putText(message))
        if (words[0] !== 'INSERTED') throw new Error(`beanstalkd: ${words.join(' ')}`)
      }
      return {
        bulk: 1_000,
        one: put,
        many: (messages) => Promise.all(messages.map(put)),
        close: () => connection.close(),
      }
    },
    async openWorker({ port, queue, concurrency }, handle) {
      const state = { isOpen: true }
      const connections = []
      const serve = async (connection) => {
        await connection.send(`watch ${queue}\r\n`)
        while (state.isOpen) {
          const { words, body } = await connection.send('reserve\r\n')
          if (words[0] !== 'RESERVED') continue
          await handle(JSON.parse(body))
          void connection.send(`delete ${words[1]}\r\n`)
        }
      }
      for (let i = 0; i < concurrency; i += 1) {
        const connection = await Connection.open(port)
        connections.push(connection)
        void serve(connection)
      }
      return {
        close() {
          state.isOpen = false
          for (const connection of connections) connection.close()
        },
      }
    },
  },
}
