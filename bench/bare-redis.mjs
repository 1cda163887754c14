// Redis on a bare socket: one write for a command, one callback for its reply, nothing else. For floors and for probes.
import { once } from 'node:events'
import { connect } from 'node:net'

const [DOLLAR, COLON, STAR, MINUS, RETURN] = [36, 58, 42, 45, 13]
const INCOMPLETE = Symbol('incomplete')

export function encode(command) {
  let text = `*${command.length}\r\n`
  for (const part of command) text += `$${Buffer.byteLength(part)}\r\n${part}\r\n`
  return text
}

class Replies {
  #bytes = Buffer.alloc(0)
  #at = 0

  feed(chunk, take) {
    this.#bytes =
      this.#at < this.#bytes.length ? Buffer.concat([this.#bytes.subarray(this.#at), chunk]) : chunk
    this.#at = 0
    while (this.#at < this.#bytes.length) {
      const from = this.#at
      const reply = this.#read()
      if (reply === INCOMPLETE) {
        this.#at = from
        return
      }
      take(reply)
    }
  }

  #read() {
    if (this.#at >= this.#bytes.length) return INCOMPLETE
    const kind = this.#bytes[this.#at++]
    const end = this.#bytes.indexOf(RETURN, this.#at)
    if (end < 0 || end + 1 >= this.#bytes.length) return INCOMPLETE
    if (kind !== DOLLAR && kind !== STAR) {
      const text = this.#bytes.latin1Slice(this.#at, end)
      this.#at = end + 2
      if (kind === COLON) return Number(text)
      return kind === MINUS ? new Error(text) : text
    }
    const size = Number(this.#bytes.latin1Slice(this.#at, end))
    this.#at = end + 2
    if (size < 0) return null
    return kind === DOLLAR ? this.#text(size) : this.#list(size)
  }

  #text(size) {
    const end = this.#at + size
    if (end + 2 > this.#bytes.length) return INCOMPLETE
    const text = this.#bytes.utf8Slice(this.#at, end)
    this.#at = end + 2
    return text
  }

  #list(size) {
    const list = []
    for (let i = 0; i < size; i += 1) {
      const item = this.#read()
      if (item === INCOMPLETE) return INCOMPLETE
      list.push(item)
    }
    return list
  }
}

/** `heard`: takes the messages of subscribed channels. */
export async function openBare(port, heard = () => {}) {
  const socket = connect(port, '127.0.0.1')
  socket.setNoDelay(true)
  const waiting = []
  const replies = new Replies()
  const take = (reply) => {
    if (Array.isArray(reply) && reply[0] === 'message') return heard(reply[2])
    const done = waiting.shift()
    if (reply instanceof Error) throw reply
    done(reply)
  }
  socket.on('data', (chunk) => replies.feed(chunk, take))
  await once(socket, 'connect')
  const send = (command, done) => {
    waiting.push(done)
    socket.write(encode(command))
  }
  return {
    /** Calls back with the reply. */
    send,
    /** What is sent inside goes out in one piece. */
    together(body) {
      socket.cork()
      body()
      socket.uncork()
    },
    call: (...command) => new Promise((resolve) => send(command, resolve)),
    close: () => socket.destroy(),
  }
}
