/**
 * An example that is an application, with packages of its own, as a project of a user: what was built stands in its
 * node_modules as if it had been installed, beside the packages of one folder below test/packages, and the user's compiler
 * has made JavaScript of it.
 */
import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { ROOT } from './setup.mjs'

const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc')

/** Which packages an example needs. */
export const PACKAGES_OF = { nestjs: 'nest-12', 'web-shop': 'web' }

/** Resolves to its directory, in which `main.js` is to be run. */
export async function makeExampleProject(name, packages = PACKAGES_OF[name]) {
  const directory = await mkdtemp(join(tmpdir(), `punctual-example-${name}-`))
  await cp(join(ROOT, 'examples', name), directory, { recursive: true })
  await writeFile(join(directory, 'package.json'), '{ "type": "module" }')
  await install(directory, join(ROOT, 'test/packages', packages, 'node_modules'))
  try {
    await promisify(execFile)(process.execPath, [tsc, '-p', directory])
  } catch (error) {
    throw new Error(`the example ${name} does not compile: ${error.stdout}`, { cause: error })
  }
  return directory
}

export async function removeExampleProject(directory) {
  await rm(directory, { recursive: true, force: true, maxRetries: 5 })
}

async function install(directory, from) {
  const modules = join(directory, 'node_modules')
  const own = join(modules, 'punctual')
  await mkdir(own, { recursive: true })
  await cp(join(ROOT, 'dist'), join(own, 'dist'), { recursive: true })
  await cp(join(ROOT, 'package.json'), join(own, 'package.json'))
  const packages = await packagesIn(from)
  const ours = ['croner', '@photostructure/sqlite', '@types/node', 'pg', '@types/pg']
  for (const name of new Set([...packages, ...ours])) {
    await mkdir(dirname(join(modules, name)), { recursive: true })
    await symlink(
      join(packages.includes(name) ? from : join(ROOT, 'node_modules'), name),
      join(modules, name),
    )
  }
}

async function packagesIn(modules) {
  const names = (await readdir(modules)).filter((name) => !name.startsWith('.'))
  const scoped = names
    .filter((name) => name.startsWith('@'))
    .map(async (scope) => (await readdir(join(modules, scope))).map((name) => `${scope}/${name}`))
  return [...names.filter((name) => !name.startsWith('@')), ...(await Promise.all(scoped)).flat()]
}
