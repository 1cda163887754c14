// Runs an example from its TypeScript on the built package, once `npm install` was run: npm run example hello-delay
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { buildIfStale } from './setup.mjs'

const [name = '', ...words] = process.argv.slice(2)
const file = `examples/${name}/main.ts`
if (name === '' || !existsSync(file)) {
  console.error(`usage: npm run example NAME, which is one of: ${readdirSync('examples').join(', ')}`)
  process.exit(2)
}
buildIfStale()
const env = { ...process.env, TSX_TSCONFIG_PATH: 'tsconfig.examples.json' }
process.exit(
  spawnSync(process.execPath, ['--import', 'tsx', file, ...words], { stdio: 'inherit', env }).status ?? 1,
)
