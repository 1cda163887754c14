// Plants mistakes and looks whether the tests notice.
//
//   npm run mutants                          core, runtime and the memory engine, a sample of a tenth
//   npm run mutants -- runtime --all         every mutant of one room
//   npm run mutants -- lua postgres mysql sqlite --count 40   forty of what each database runs, on real servers
//   npm run mutants -- core --sample 0.3 --seed 7
//   npm run mutants -- runtime --all --only keeper       files whose path has this word in it
//
// Works on a copy of the tree, so that an interrupted run leaves no mistake behind. The report names every survivor.
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { execFileSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { fileURLToPath } from 'node:url'
import { LANGUAGES, mutateScripts } from './scripts.mjs'
import { mutateTypeScript, ROOMS } from './typescript.mjs'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    all: { type: 'boolean', default: false },
    sample: { type: 'string', default: '0.1' },
    count: { type: 'string', default: '40' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
  },
})
const rooms = positionals.length === 0 ? Object.keys(ROOMS) : positionals
const unknown = rooms.find((room) => LANGUAGES[room] === undefined && ROOMS[room] === undefined)
if (unknown !== undefined) {
  console.error(
    `"${unknown}" is not a room; there are: ${[...Object.keys(ROOMS), ...Object.keys(LANGUAGES)].join(', ')}.`,
  )
  process.exit(2)
}

const copy = copyTree()
try {
  const share = values.all ? 1 : Number(values.sample)
  for (const room of rooms) {
    if (LANGUAGES[room] !== undefined) {
      await mutateScripts({
        tree: copy,
        language: room,
        count: values.all ? Infinity : Number(values.count),
        seed: Number(values.seed),
        only: values.only,
      })
    } else {
      mutateTypeScript({ tree: copy, room, share, seed: Number(values.seed), only: values.only })
    }
  }
} finally {
  rmSync(copy, { recursive: true, force: true })
}

/** What git knows of the tree, as it is now, with the installed packages behind links. */
function copyTree() {
  const tree = mkdtempSync(join(tmpdir(), 'punctual-mutants-'))
  const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
  })
  for (const file of files.toString().split('\0').filter(Boolean)) {
    mkdirSync(dirname(join(tree, file)), { recursive: true })
    cpSync(join(ROOT, file), join(tree, file))
  }
  for (const modules of ['node_modules', 'test/mutation/node_modules'])
    symlinkSync(join(ROOT, modules), join(tree, modules), 'dir')
  execFileSync(process.execPath, [join(tree, 'scripts/generate.mjs')])
  cpSync(join(ROOT, 'dist'), join(tree, 'dist'), { recursive: true })
  return tree
}
