/** What an operator should know about a file store. */
import { statfsSync } from 'node:fs'
import type { Finding } from '../../contract/store.ts'
import { DATA_FILE, WAL_FILE, sizeOf, type SyncMode } from '../directory.ts'
import type { View } from '../verbs/scene.ts'
import { mebibytes } from './findings.ts'
import { verify } from './verification.ts'

const SHOWN_MAX = 5
const LOW_BYTES = 256 * 1024 * 1024
/** It starts over at 4 MiB, unless somebody reads in it for long. */
const LONG_WAL_BYTES = 256 * 1024 * 1024
/** Before this one, two connections at the wrong moment could damage the file. */
const SAFE_VERSION = [3, 51, 3]

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

export function checkup(view: View, { sync }: { readonly sync: SyncMode }): Finding[] {
  return [
    ...checkMessages(view),
    ...checkFilesystem(view.db.directory),
    ...checkVersion(view),
    ...checkSync(sync),
    ...describeSize(view),
  ]
}

function checkMessages(view: View): Finding[] {
  const { checked, isComplete, problems } = verify(view)
  if (problems.length === 0) {
    const which = isComplete ? `all ${checked}` : `the first ${checked}`
    return [{ level: 'fine', what: `${which} messages of this store are in order` }]
  }
  return problems.slice(0, SHOWN_MAX).map((what) => ({
    level: 'problem',
    what: `damaged (${problems.length} such findings): ${what}`,
    remedy:
      'stop all processes that use it, keep a copy of the directory, and restore a backup (docs/file.md)',
  }))
}

function checkFilesystem(directory: string): Finding[] {
  const { type, bavail, bsize } = statfsSync(directory)
  const findings: Finding[] = []
  const remote = FILESYSTEMS.get(type)
  if (remote !== undefined) {
    findings.push({
      level: 'problem',
      what: `${directory} lies on ${remote}, where locks and shared memory cannot be relied on`,
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

function checkVersion({ db }: View): Finding[] {
  const version = db.get<{ v: string }>('SELECT sqlite_version() AS v')?.v ?? ''
  if (!isOlder(version.split('.').map(Number))) return [{ level: 'fine', what: `SQLite ${version}` }]
  return [
    {
      level: 'warning',
      what: `SQLite ${version} has a rare bug that can damage a store that several processes use`,
      remedy: `use a Node with SQLite ${SAFE_VERSION.join('.')} or newer (Node 22.23, 24.21)`,
    },
  ]
}

function isOlder(version: readonly number[]): boolean {
  const at = SAFE_VERSION.findIndex((part, index) => part !== version[index])
  return at >= 0 && (version[at] ?? 0) < (SAFE_VERSION[at] ?? 0)
}

function checkSync(sync: SyncMode): Finding[] {
  if (sync === 'full') return []
  return [
    {
      level: 'warning',
      what: 'sync=off: a power cut can lose the messages of the last moments',
      remedy: 'remove sync=off from the store URL unless losing them is fine',
    },
  ]
}

function describeSize({ db }: View): Finding[] {
  const [data, wal] = [sizeOf(db.directory, DATA_FILE), sizeOf(db.directory, WAL_FILE)]
  const free = Number(db.pragma('freelist_count')) / Math.max(1, Number(db.pragma('page_count')))
  const used = Math.round(100 * (1 - free))
  const findings: Finding[] = [
    {
      level: 'fine',
      what: `${db.directory} takes ${mebibytes(data + wal)} on disk, ${used} % of ${DATA_FILE} in use`,
    },
  ]
  if (wal > LONG_WAL_BYTES) {
    findings.push({
      level: 'warning',
      what: `${WAL_FILE} has grown to ${mebibytes(wal)}: somebody reads in the store for long`,
      remedy: 'end the program that has queue.db open besides punctual, such as sqlite3 in a transaction',
    })
  }
  return findings
}
