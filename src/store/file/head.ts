/**
 * The first two pages of an LMDB file, which point to all others in turn. We look at them before the library does:
 * given a file that is none of its own, it reports an error and then takes the process down.
 *
 *   each page:   0 page header   24 magic   28 version   48 page size (4 bytes each, in the machine's order)
 */
import { open } from 'node:fs/promises'
import { endianness } from 'node:os'

const MAGIC = 0xbeefc0de
const VERSION = 2
const MAGIC_AT = 24
const VERSION_AT = 28
const PAGE_SIZE_AT = 48
const HEAD_BYTES = 52
const PAGE_BYTES_MIN = 512
const PAGE_BYTES_MAX = 65_536

/** What is wrong with a file; undefined for one that can be opened. */
export async function headProblem(file: string): Promise<string | undefined> {
  const handle = await open(file, 'r')
  try {
    const { size } = await handle.stat()
    const first = Buffer.alloc(HEAD_BYTES)
    await handle.read(first, 0, HEAD_BYTES, 0)
    if (!isHead(first)) return 'it does not begin like an LMDB file'
    const pageBytes = readNumber(first, PAGE_SIZE_AT)
    if (pageBytes < PAGE_BYTES_MIN || pageBytes > PAGE_BYTES_MAX) return `its pages have ${pageBytes} bytes`
    if (size < 2 * pageBytes) return `it has ${size} bytes, fewer than an empty store`
    const second = Buffer.alloc(HEAD_BYTES)
    await handle.read(second, 0, HEAD_BYTES, pageBytes)
    return isHead(second) ? undefined : 'its second page is none of LMDB’s'
  } finally {
    await handle.close()
  }
}

function isHead(page: Buffer): boolean {
  return readNumber(page, MAGIC_AT) === MAGIC && readNumber(page, VERSION_AT) === VERSION
}

function readNumber(page: Buffer, offset: number): number {
  return endianness() === 'LE' ? page.readUInt32LE(offset) : page.readUInt32BE(offset)
}
