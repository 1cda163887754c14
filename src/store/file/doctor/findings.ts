/** How findings are put. */
import type { Finding } from '../../contract/store.ts'

const ORDER: readonly Finding['level'][] = ['problem', 'warning', 'fine']
const MEBIBYTE = 1024 * 1024

export function worstFirst(findings: readonly Finding[]): Finding[] {
  return findings.toSorted((a, b) => ORDER.indexOf(a.level) - ORDER.indexOf(b.level))
}

export function isWatchingFinding(directory: string, isWatching: boolean): Finding[] {
  if (isWatching) return []
  return [
    {
      level: 'warning',
      what: `${directory} cannot be watched, so messages from other processes may be late`,
      remedy: 'raise the limit on file watches (Linux: fs.inotify.max_user_instances)',
    },
  ]
}

export function mebibytes(bytes: number): string {
  return `${(bytes / MEBIBYTE).toFixed(1)} MiB`
}
