/** What an operator should know about a file store. */
import { statfs } from 'node:fs/promises'
import type { PunctualError } from '../../core/errors.ts'
import { worstFirst } from '../contract/findings.ts'
import type { Finding } from '../contract/store.ts'
import { dataBytes } from './directory.ts'
import type { Environment } from './environment.ts'
import { explainFailure } from './failure.ts'
import type { View } from './inspection.ts'
import { verify } from './verification.ts'
import type { WakeChannel } from './wake.ts'

/** A doctor's visit looks at so many messages at most, about a second's worth. */
const CHECKED_MAX = 100_000
const SHOWN_MAX = 5
const LOW_BYTES = 256 * 1024 * 1024
const MEBIBYTE = 1024 * 1024

/** Magic numbers of filesystems (Linux) that other machines may write to behind our back, or that end with this one. */
const FILESYSTEMS: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB2'],
  [0x517b, 'SMB'],
  [0x01021997, '9P'],
  [0x5346414f, 'AFS'],
  [0x65735546, 'FUSE'],
  [0x00c36400, 'Ceph'],
])
const TMPFS = 0x01021994

export async function checkup(
  environment: Environment,
  channel: WakeChannel,
  look: () => View,
): Promise<Finding[]> {
  const findings = [
    ...(await checkMessages(environment, look)),
    ...(await checkFilesystem(environment)),
    ...checkSettings(environment, channel),
    await describeSize(environment),
  ]
  return worstFirst(findings)
}

async function checkMessages({ directory }: Environment, look: () => View): Promise<Finding[]> {
  const explain = (error: unknown): Promise<PunctualError> => explainFailure(error, directory)
  const { checked, isComplete, problems } = await verify(look, CHECKED_MAX, explain)
  if (problems.length === 0) {
    const which = isComplete ? `all ${checked}` : `the first ${checked}`
    return [{ level: 'fine', what: `${which} messages of this queue are in order` }]
  }
  return problems.slice(0, SHOWN_MAX).map((what) => ({
    level: 'problem',
    what: `damaged (${problems.length} such findings): ${what}`,
    remedy:
      'stop all processes that use it, keep a copy of the directory, and restore a backup (docs/file.md)',
  }))
}

async function checkFilesystem({ directory }: Environment): Promise<Finding[]> {
  const { type, bavail, bsize } = await statfs(directory)
  const findings: Finding[] = []
  const remote = FILESYSTEMS.get(type)
  if (remote !== undefined) {
    findings.push({
      level: 'problem',
      what: `${directory} lies on ${remote}, where locks and memory maps cannot be relied on`,
      remedy: 'use a disk of this machine, or a store on a server for several machines',
    })
  }
  if (type === TMPFS) {
    findings.push({
      level: 'problem',
      what: `${directory} lies in memory (tmpfs) and ends with the machine`,
      remedy: 'use a directory on a disk',
    })
  }
  const free = bavail * bsize
  if (free < LOW_BYTES) {
    findings.push({
      level: 'warning',
      what: `only ${mebibytes(free)} are free on the disk of ${directory}`,
      remedy: 'free some space; near the end, new messages are refused with STORE_FULL',
    })
  }
  return findings
}

function checkSettings({ directory, sync, tree }: Environment, channel: WakeChannel): Finding[] {
  const findings: Finding[] = []
  if (sync === 'off') {
    findings.push({
      level: 'warning',
      what: 'sync=off: a power cut can lose or damage messages',
      remedy: 'remove sync=off from the store URL unless losing them is fine',
    })
  }
  if (!channel.isWatching) {
    findings.push({
      level: 'warning',
      what: `${directory} cannot be watched, so messages from other processes may be late`,
      remedy: 'raise the limit on file watches (Linux: fs.inotify.max_user_instances)',
    })
  }
  const stale = tree.dropStaleReaders()
  if (stale > 0) {
    findings.push({ level: 'fine', what: `${stale} reader entries of dead processes were cleared` })
  }
  return findings
}

async function describeSize({ directory, tree }: Environment): Promise<Finding> {
  const { pages, usedPages } = tree.stats()
  const bytes = await dataBytes(directory)
  const used = Math.round((100 * usedPages) / pages)
  return { level: 'fine', what: `${directory} takes ${mebibytes(bytes)} on disk, ${used} % of it in use` }
}

function mebibytes(bytes: number): string {
  return `${(bytes / MEBIBYTE).toFixed(1)} MiB`
}
