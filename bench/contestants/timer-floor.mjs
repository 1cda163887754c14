// One setTimeout per message, in the process: what Node and the machine contribute to every lateness.
let handle
const held = []

function start(message) {
  const leftMs = message.dueAt - Date.now()
  // A bare timer may fire early; so that the floor is never early either, it looks again.
  const fire = () => (Date.now() < message.dueAt ? setTimeout(fire, 1) : void handle(message))
  if (leftMs > 0) setTimeout(fire, leftMs)
  else setImmediate(fire)
}

function put(message) {
  if (handle === undefined) held.push(message)
  else start(message)
}

export const contestants = {
  'timer-floor': {
    name: 'timer-floor',
    server: 'none',
    isInProcess: true,
    note: 'nothing is stored',
    async openProducer() {
      return {
        bulk: 1_000,
        one: async (message) => put(message),
        many: async (messages) => messages.forEach(put),
        close() {},
      }
    },
    async openWorker(_context, handler) {
      handle = handler
      held.splice(0).forEach(start)
      return { close() {} }
    },
  },
}
