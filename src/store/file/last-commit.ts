/**
 * The number of the last commit, which LMDB keeps twice: in the data file, where it is the truth, and in `lock.mdb`,
 * where every transaction looks it up to know what to begin from. A process that opens the directory reads the first
 * and, with no lock held, writes it to the second. If somebody commits in between, the number goes back:
 *
 *   opener      reads 7                        writes 7
 *   writer A             commits 8
 *   writer B                                            begins from 7, and would undo 8
 *
 * What 8 did would be lost, and its pages be used twice. So each transaction, before it does anything, compares what
 * it began from with the data file; both stand still then, because it holds the write lock. If it is behind, it sets
 * the number right, writes nothing, and is begun again. If we die in the middle, the next one finds the same.
 *
 * Danger: the locks that tell others that we live are on this file, and closing it once, anywhere in the process,
 * gives them all up. So the main thread opens it once and never closes it. Node closes what other threads opened
 * when they end; they leave the writing to another process.
 */
import { execFileSync } from 'node:child_process'
import { fstatSync, openSync, statSync, writeSync } from 'node:fs'
import { endianness } from 'node:os'
import path from 'node:path'
import { isMainThread } from 'node:worker_threads'

const LOCK_FILE = 'lock.mdb'
/** After two numbers of 4 bytes that say whose file it is. */
const NUMBER_AT = 8
const NUMBER_BYTES = 8
const WRITE_ELSEWHERE = `
const { openSync, writeSync } = require('node:fs')
const [file, hex] = process.argv.slice(1)
writeSync(openSync(file, 'r+'), Buffer.from(hex, 'hex'), 0, ${NUMBER_BYTES}, ${NUMBER_AT})`

const opened = new Map<string, number>()

/** Only for who holds the write lock. */
export function setLastCommit(directory: string, commit: number): void {
  const file = path.join(directory, LOCK_FILE)
  const bytes = encode(commit)
  if (isMainThread) writeSync(descriptorOf(file), bytes, 0, NUMBER_BYTES, NUMBER_AT)
  else execFileSync(process.execPath, ['--eval', WRITE_ELSEWHERE, file, bytes.toString('hex')])
}

function descriptorOf(file: string): number {
  const known = opened.get(file)
  if (known !== undefined && isSame(known, file)) return known
  const descriptor = openSync(file, 'r+')
  opened.set(file, descriptor)
  return descriptor
}

/** The directory may have been removed and made again. */
function isSame(descriptor: number, file: string): boolean {
  const ours = fstatSync(descriptor)
  const theirs = statSync(file)
  return ours.ino === theirs.ino && ours.dev === theirs.dev
}

function encode(commit: number): Buffer {
  const bytes = Buffer.alloc(NUMBER_BYTES)
  if (endianness() === 'LE') bytes.writeBigUInt64LE(BigInt(commit))
  else bytes.writeBigUInt64BE(BigInt(commit))
  return bytes
}
