// What every child has in common: its options, its log, its voice to the run, its samples, and that it never outlives
// the run.
import { readdirSync, readFileSync } from 'node:fs'
import { Log } from './log.mjs'

const SAMPLE_EVERY_MS = 5_000
const SAY_EVERY_MS = 1_000

export function begin() {
  const options = JSON.parse(process.argv[2])
  const log = new Log(options.log)
  const counts = {}
  const listeners = {}
  process.on('message', ({ please, ...details }) => listeners[please]?.(details))
  process.on('disconnect', () => process.exit(3))
  const samples = setInterval(() => log.write({ what: 'sample', ...sample() }), SAMPLE_EVERY_MS)
  const voice = setInterval(() => say({ said: 'counts', counts }), SAY_EVERY_MS)
  samples.unref()
  voice.unref()
  const on = (request, listener) => (listeners[request] = listener)
  const end = (code) => {
    say({ said: 'counts', counts })
    log.close()
    process.exit(code)
  }
  return {
    options,
    log,
    say,
    count: (what, by = 1) => (counts[what] = (counts[what] ?? 0) + by),
    /** What the run may ask of this child. */
    on,
    end,
    /** When asked to, stops the queue, writes down its report, and ends. `first` is called before; once, like the rest. */
    stopsWhenAsked: (queue, first = () => undefined) => {
      const life = { isStopping: false }
      const stop = async () => {
        if (life.isStopping) return
        life.isStopping = true
        first()
        log.write({ what: 'stopping' })
        log.write({ what: 'stopped', ...(await queue.stop()) })
        end(0)
      }
      on('stop', stop)
      process.on('SIGTERM', () => void stop())
      process.on('SIGINT', () => undefined) // Ctrl-C is for the run, which ends us.
      return life
    },
  }
}

function say(line) {
  if (process.connected) process.send(line)
}

/** After a collection, so that only what is really held counts. */
function sample() {
  globalThis.gc?.()
  const { heapUsed } = process.memoryUsage()
  return {
    memory: ownMemory(),
    heap: heapUsed,
    files: openFiles(),
    handles: process.getActiveResourcesInfo().length,
  }
}

/** Without the files that are mapped: those of the store are shared, and as large as they are. */
function ownMemory() {
  try {
    return Number(/^RssAnon:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8'))[1]) * 1024
  } catch {
    return process.memoryUsage.rss() // Not Linux.
  }
}

function openFiles() {
  try {
    return readdirSync('/proc/self/fd').length
  } catch {
    return 0 // Not Linux.
  }
}
