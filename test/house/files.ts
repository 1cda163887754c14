/** The files of the project, without what is installed or made. */
import { readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'

export const ROOT = resolve(import.meta.dirname, '../..')
const NOT_OURS =
  /(?:^|\/)(?:node_modules|dist|\.git|\.tests|\.punctual|\.simulation|coverage)(?:\/|$)|\.vitepress\/(?:cache|dist|\.temp)|generated\.ts$/

export function filesBelow(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`
    if (NOT_OURS.test(path)) return []
    if (entry.isDirectory()) return filesBelow(path)
    return entry.isFile() ? [path] : []
  })
}
