/**
 * Which process holds a lease, said so that another process can prove it dead and take over at once.
 *
 *   boot id, process namespace, pid, start time
 *
 * Proof needs all four: within the same boot and the same namespace a pid that is gone, or that began at another time, is
 * a dead process. With another boot id or namespace nothing is proven (another container, or another machine on a shared
 * disk), and the lease has to end by itself. Where there is no /proc (macOS, Windows) no process is ever proven dead.
 */
import { readFileSync, readlinkSync } from 'node:fs'
import { errorCode } from '../../core/errors.ts'

const SEPARATOR = ' '
const START_FIELD = 22

/** '' where it cannot be known. */
export const OWN_PROCESS = ownProcess()

/** Whether it could ever be proven dead by us. */
export function isProvable(identity: string): boolean {
  return identity !== '' && identity !== OWN_PROCESS && worldOf(identity) === worldOf(OWN_PROCESS)
}

export function isProvenDead(identity: string): boolean {
  if (!isProvable(identity)) return false
  const [, , pid = '', start = ''] = identity.split(SEPARATOR)
  try {
    const { state, startedAt } = statOf(pid)
    return startedAt !== start || state === 'Z' || state === 'X'
  } catch (error) {
    return ['ENOENT', 'ESRCH'].includes(errorCode(error))
  }
}

function ownProcess(): string {
  try {
    const pid = String(process.pid)
    // Inside a namespace that still sees the /proc of another one, pids there are not ours.
    if (readlinkSync('/proc/self') !== pid) return ''
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    const namespace = readlinkSync('/proc/self/ns/pid')
    return [boot, namespace, pid, statOf(pid).startedAt].join(SEPARATOR)
  } catch {
    return ''
  }
}

function worldOf(identity: string): string {
  return identity.split(SEPARATOR).slice(0, 2).join(SEPARATOR)
}

/** The second field is the program's name in brackets, and may hold anything. */
function statOf(pid: string): { readonly state: string; readonly startedAt: string } {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const [state, startedAt] = [fields[0], fields[START_FIELD - 3]]
  if (state === undefined || startedAt === undefined) throw new Error(`/proc/${pid}/stat makes no sense`)
  return { state, startedAt }
}
