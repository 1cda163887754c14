// Runs an example from its TypeScript, once `npm install` was run: npm run example hello-delay
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'

const [name = ''] = process.argv.slice(2)
const file = `examples/${name}/main.ts`
if (name === '' || !existsSync(file)) {
  console.error(`usage: npm run example NAME, which is one of: ${readdirSync('examples').join(', ')}`)
  process.exit(2)
}
process.exit(spawnSync(process.execPath, ['--import', 'tsx', file], { stdio: 'inherit' }).status ?? 1)
