/**
 * Tokens in a file, as `punctual token` keeps them. A server that is called looks twice a second whether the file has
 * changed, so that a token can be added or taken back while it runs. A file that cannot be read then leaves the tokens as they were.
 */
import { readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import type { Clock } from '../../../clock.ts'
import { UsageError } from '../../../core/errors.ts'
import { checkRecord } from '../../../core/input/checks.ts'
import type { Logger } from '../../../core/log.ts'
import { parseTokenRecord, type TokenRecord } from './tokens.ts'

const LOOK_MS = 400
/** Only its owner may read it: the names and scopes are not for everybody. */
const MODE = 0o600

export function readTokenFile(path: string): readonly TokenRecord[] {
  let value: unknown
  try {
    value = JSON.parse(readFileSync(path, 'utf8'))
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new UsageError(
      'OPTION_INVALID',
      `the tokens in ${path} cannot be read: ${why}; "punctual token add" makes such a file.`,
      { value: path, cause },
    )
  }
  const { tokens } = checkRecord(value, path, ['tokens'])
  if (!Array.isArray(tokens))
    throw new UsageError('OPTION_INVALID', `${path} is not { "tokens": [...] }.`, { value: path })
  return tokens.map((record, i) => parseTokenRecord(record, `tokens[${i}] in ${path}`))
}

/** In one step: a server that reads meanwhile sees the old file or the new one. */
export function writeTokenFile(path: string, tokens: readonly TokenRecord[]): void {
  const made = `${path}.new`
  writeFileSync(made, `${JSON.stringify({ tokens }, undefined, 2)}\n`, { mode: MODE })
  renameSync(made, path)
}

/** Answers the tokens as they are now. Throws at first if the file cannot be read. */
export function watchTokenFile(path: string, clock: Clock, logger: Logger): () => readonly TokenRecord[] {
  let tokens = readTokenFile(path)
  let changedAt = changeOf(path)
  let lookedAt = clock.monotonic()
  return () => {
    const now = clock.monotonic()
    if (now - lookedAt < LOOK_MS) return tokens
    lookedAt = now
    try {
      const at = changeOf(path)
      if (at === changedAt) return tokens
      tokens = readTokenFile(path)
      changedAt = at
      logger.info?.(`tokens: read ${tokens.length} from ${path}`)
    } catch (error) {
      logger.warn(`tokens stay as they were: ${error instanceof Error ? error.message : String(error)}`)
    }
    return tokens
  }
}

function changeOf(path: string): string {
  const { mtimeMs, size, ino } = statSync(path)
  return `${mtimeMs} ${size} ${ino}`
}
