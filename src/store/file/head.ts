/**
 * The first two pages of an LMDB file, which in turn point to all others. We look at them before the library does:
 * given a file that is none of its own, it reports an error and then takes the process down.
 *
 *   each page:   24 magic   28 version   48 page size   144 number of the last page   152 transaction
 *                (4 bytes each, the last two 8, in the machine's order)
 */
import { open, type FileHandle } from 'node:fs/promises'
import { endianness } from 'node:os'

const MAGIC = 0xbeefc0de
const VERSION = 2
const MAGIC_AT = 24
const VERSION_AT = 28
const PAGE_SIZE_AT = 48
const LAST_PAGE_AT = 144
const TRANSACTION_AT = 152
const HEAD_BYTES = 160
const PAGE_BYTES_MIN = 512
const PAGE_BYTES_MAX = 65_536

/** A problem, or how long the file should be. */
export type Head = { readonly problem?: string; readonly expectedBytes: number }

export async function readHead(file: string): Promise<Head> {
  const handle = await open(file, 'r')
  try {
    return await readBothPages(handle)
  } finally {
    await handle.close()
  }
}

async function readBothPages(handle: FileHandle): Promise<Head> {
  const first = await readPage(handle, 0)
  if (!isHead(first)) return bad('it does not begin like an LMDB file')
  const pageBytes = readNumber(first, PAGE_SIZE_AT)
  if (pageBytes < PAGE_BYTES_MIN || pageBytes > PAGE_BYTES_MAX)
    return bad(`its pages have ${pageBytes} bytes`)
  const second = await readPage(handle, pageBytes)
  if (!isHead(second)) return bad('its second page is missing or none of LMDB’s')
  const current = readLong(first, TRANSACTION_AT) > readLong(second, TRANSACTION_AT) ? first : second
  return { expectedBytes: (readLong(current, LAST_PAGE_AT) + 1) * pageBytes }
}

async function readPage(handle: FileHandle, offset: number): Promise<Buffer> {
  const page = Buffer.alloc(HEAD_BYTES)
  await handle.read(page, 0, HEAD_BYTES, offset)
  return page
}

function bad(problem: string): Head {
  return { problem, expectedBytes: 0 }
}

function isHead(page: Buffer): boolean {
  return readNumber(page, MAGIC_AT) === MAGIC && readNumber(page, VERSION_AT) === VERSION
}

function readNumber(page: Buffer, offset: number): number {
  return endianness() === 'LE' ? page.readUInt32LE(offset) : page.readUInt32BE(offset)
}

function readLong(page: Buffer, offset: number): number {
  return Number(endianness() === 'LE' ? page.readBigUInt64LE(offset) : page.readBigUInt64BE(offset))
}
