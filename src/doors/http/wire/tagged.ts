/** Answers with a tag: a caller that has this very text already is told so instead. */
import { createHash } from 'node:crypto'
import type { HttpReply } from '../table/route.ts'
import type { HttpRequest } from './request.ts'

const TAG_LENGTH = 22

export function tagged(
  request: HttpRequest,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): HttpReply {
  const etag = `"${createHash('sha256').update(text).digest('base64url').slice(0, TAG_LENGTH)}"`
  const given = request.header('if-none-match')
  const all = { ...headers, etag, 'cache-control': 'private, no-cache' }
  if (given !== undefined && given.split(',').some((tag) => tag.trim() === etag))
    return { status: 304, headers: all }
  return { status: 200, text, headers: all }
}
