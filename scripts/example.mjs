// Runs an example from its TypeScript on the built package, once `npm install` was run: npm run example hello-delay
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { makeExampleProject, PACKAGES_OF, removeExampleProject } from './example-project.mjs'
import { buildIfStale, installPackage } from './setup.mjs'

const [name = '', ...words] = process.argv.slice(2)
const file = `examples/${name}/main.ts`
if (name === '' || !existsSync(file)) {
  console.error(`usage: npm run example NAME, which is one of: ${readdirSync('examples').join(', ')}`)
  process.exit(2)
}
buildIfStale()
const packages = PACKAGES_OF[name]
if (packages !== undefined) {
  // An application: it runs until it is stopped.
  installPackage(`test/packages/${packages}`, 'the packages of the example')
  const cwd = await makeExampleProject(name)
  process.on('SIGINT', () => undefined)
  const { status } = spawnSync(process.execPath, ['main.js', ...words], { cwd, stdio: 'inherit' })
  await removeExampleProject(cwd)
  process.exit(status ?? 0)
}
const env = { ...process.env, TSX_TSCONFIG_PATH: 'tsconfig.examples.json' }
process.exit(
  spawnSync(process.execPath, ['--import', 'tsx', file, ...words], { stdio: 'inherit', env }).status ?? 1,
)
