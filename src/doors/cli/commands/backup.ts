import { resolve } from 'node:path'
import { defineCommand } from '../command.ts'
import { EXIT } from '../../shared/failure.ts'
import { printable } from '../../shared/printable.ts'

export const backup = defineCommand({
  name: 'backup',
  summary: 'copy a file store to a new directory while it is in use',
  operands: 'DIRECTORY',
  arity: [1, 1],
  options: {},
  examples: [
    ['punctual backup backups/monday', 'one consistent copy; workers go on'],
    ['punctual stats --store file:backups/monday', 'a backup is a store: look into it'],
  ],
  notes: [
    'All queues of the store are copied. A store on a server has tools of its own: the refusal names them.',
  ],
  makesStore: false,
  run: async ({ positionals: [directory = ''], open, out, json, storeName }) => {
    const path = resolve(directory)
    await open().backup(path)
    if (json) out.json({ directory: path })
    else out.line(`${storeName} copied to ${printable(path)}`)
    return EXIT.fine
  },
})
