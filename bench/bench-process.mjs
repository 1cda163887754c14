// The parent's side of a child process.
import { fork } from 'node:child_process'
import { once } from 'node:events'

const CHILD = new URL('./child.mjs', import.meta.url).pathname
const CLOSE_WITHIN_MS = 10_000

export async function startChild(name, context) {
  const child = fork(CHILD, { serialization: 'advanced', stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  const waiting = new Map()
  let last = 0
  child.on('message', ({ id, value, error }) => {
    const { resolve, reject } = waiting.get(id)
    waiting.delete(id)
    if (error === undefined) resolve(value)
    else reject(new Error(`${name}: ${error}`))
  })
  child.on('exit', (code) => {
    for (const { reject } of waiting.values()) reject(new Error(`${name}: the process ended with ${code}`))
  })
  const ask = (verb, argument) =>
    new Promise((resolve, reject) => {
      last += 1
      waiting.set(last, { resolve, reject })
      child.send({ id: last, verb, argument })
    })
  await ask('open', { name, context })
  return {
    ask,
    async stop() {
      const timeUp = new Promise((resolve) => setTimeout(resolve, CLOSE_WITHIN_MS).unref())
      await Promise.race([ask('close').catch(() => {}), timeUp])
      if (child.exitCode !== null) return
      const exited = once(child, 'exit')
      child.kill('SIGKILL')
      await exited
    },
  }
}
