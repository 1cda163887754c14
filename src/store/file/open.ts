/** `file:PATH?sync=full|off` -> a store, not yet opened. */
import { existsSync } from 'node:fs'
import { UsageError, describe } from '../../core/errors.ts'
import type { Store } from '../contract/store.ts'
import type { StoreContext } from '../engine.ts'
import type { SyncMode } from './directory.ts'
import { FileStore } from './store.ts'

const SCHEME = 'file:'
const DEFAULT_DIRECTORY = '.punctual'

export type FileTarget = { readonly directory: string; readonly sync: SyncMode }

export function openFileStore(target: string, context: StoreContext): Store {
  return new FileStore(parseFileTarget(target), context)
}

export function fileStoreExists(target: string): boolean {
  return existsSync(parseFileTarget(target).directory)
}

/** Both `file:queue` (relative) and `file:///var/lib/queue` (absolute) are understood. */
export function parseFileTarget(target: string): FileTarget {
  if (!target.startsWith(SCHEME)) {
    throw new UsageError('STORE_URL_INVALID', `${describe(target)} is not a file store; write "file:PATH".`, {
      value: target,
    })
  }
  const [location, query] = splitOnce(target.slice(SCHEME.length), '?')
  const path = decode(location.startsWith('//') ? location.slice(2) : location, target)
  const directory = process.platform === 'win32' ? withoutSlashBeforeDrive(path) : path
  return { directory: directory === '' ? DEFAULT_DIRECTORY : directory, sync: parseSync(query) }
}

/** `file:///C:/data` is `C:/data` on Windows. */
export function withoutSlashBeforeDrive(path: string): string {
  return path.replace(/^\/(?=[a-z]:[\\/])/i, '')
}

function parseSync(query: string): SyncMode {
  let sync: SyncMode = 'full'
  for (const [name, value] of new URLSearchParams(query)) {
    if (name !== 'sync') {
      throw new UsageError('OPTION_UNKNOWN', `a file store has no option "${name}"; it has "sync".`, {
        value: name,
      })
    }
    if (value !== 'full' && value !== 'off') {
      throw new UsageError('OPTION_INVALID', `sync is ${describe(value)}; allowed: "full" or "off".`, {
        value,
      })
    }
    sync = value
  }
  return sync
}

function decode(location: string, target: string): string {
  try {
    return decodeURIComponent(location)
  } catch (cause) {
    throw new UsageError(
      'STORE_URL_INVALID',
      `${describe(target)} has a "%" that is not followed by two hexadecimal digits; write "%25" for it.`,
      { value: target, cause },
    )
  }
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator)
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + separator.length)]
}
