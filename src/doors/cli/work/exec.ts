/**
 * A handler in any language: a command that is run once per message.
 *
 *   standard input   the payload as JSON
 *   environment      PUNCTUAL_ID, PUNCTUAL_TOPIC, PUNCTUAL_ATTEMPT, PUNCTUAL_DUE_AT, PUNCTUAL_LATENESS_MS
 *   exit code 0      done
 *   exit code 65     never mind trying again: to the dead letters (EX_DATAERR of sysexits)
 *   anything else    retried by policy; the last line of its standard error is the reason
 *
 * It runs in a process group of its own: Ctrl-C at the worker's terminal must not hit the commands under way, which
 * a graceful stop lets finish, and whatever they started ends with them when their time is over. Windows has no such groups:
 * there the command alone is ended.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { systemClock, type Timer } from '../../../clock.ts'
import { DeadLetter, type Handler, type Message } from '../../../index.ts'
import { CallError } from '../../shared/failure.ts'
import { printable } from '../../shared/printable.ts'
import { splitWords } from './words.ts'

const EX_DATAERR = 65
const HAS_GROUPS = process.platform !== 'win32'
/** Between SIGTERM and SIGKILL. */
const KILL_AFTER_MS = 2_000
const STDERR_KEPT = 2_000

export function execHandler(command: string): Handler {
  const [program, ...words] = splitWords(command)
  if (program === undefined) throw new CallError('--exec needs TOPIC=COMMAND.')
  return async (message) => {
    const child = spawn(program, words, {
      detached: HAS_GROUPS,
      windowsHide: true,
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...process.env, ...describeInEnvironment(message) },
    })
    const complaint = tail(child)
    const end = ended(child)
    child.stdin.on('error', () => undefined) // A command need not read its payload.
    child.stdin.end(JSON.stringify(message.payload) ?? '')
    const stopKilling = killOnAbort(child, message.signal)
    const { code, signal } = await end.finally(stopKilling)
    if (code === 0) return
    const why = complaint() || (signal === null ? `exit code ${code}` : `ended by ${signal}`)
    if (code === EX_DATAERR) throw new DeadLetter(why)
    throw new Error(why)
  }
}

function describeInEnvironment({ id, topic, attempt, dueAt, latenessMs }: Message): Record<string, string> {
  return {
    PUNCTUAL_ID: id,
    PUNCTUAL_TOPIC: topic,
    PUNCTUAL_ATTEMPT: String(attempt),
    PUNCTUAL_DUE_AT: String(dueAt),
    PUNCTUAL_LATENESS_MS: String(Math.round(latenessMs)),
  }
}

type ExitStatus = { readonly code: number | null; readonly signal: NodeJS.Signals | null }

function ended(child: ChildProcess): Promise<ExitStatus> {
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve({ code, signal }))
  })
}

/** What it says goes to our standard error; the last line of its own is kept as the reason of a failure. */
function tail(child: ChildProcess): () => string {
  let kept = ''
  child.stdout?.on('data', (chunk: Buffer) => process.stderr.write(chunk))
  child.stderr?.on('data', (chunk: Buffer) => {
    process.stderr.write(chunk)
    kept = (kept + chunk.toString()).slice(-STDERR_KEPT)
  })
  return () => printable(kept.trimEnd().split('\n').at(-1) ?? '')
}

/** Returns the function that calls it off. */
function killOnAbort(child: ChildProcess, signal: AbortSignal): () => void {
  let last: Timer | undefined
  const kill = (): void => {
    signalGroup(child, 'SIGTERM')
    last = systemClock.schedule(KILL_AFTER_MS, () => signalGroup(child, 'SIGKILL'))
  }
  if (signal.aborted) kill()
  else signal.addEventListener('abort', kill, { once: true })
  return () => {
    signal.removeEventListener('abort', kill)
    last?.cancel()
  }
}

function signalGroup(child: ChildProcess, name: NodeJS.Signals): void {
  if (child.pid === undefined) return
  try {
    if (HAS_GROUPS) process.kill(-child.pid, name)
    else child.kill(name)
  } catch {
    // Ended meanwhile: that is what was wanted.
  }
}
