// Runs the chaos suite against the built package. The suite is TypeScript, which Node 20 does not read by itself.
//
//   npm run chaos -- --engine redis --minutes 5
//   npm run chaos -- --help
import { register } from 'tsx/esm/api'
import { buildIfStale } from './setup.mjs'

register()
const { main } = await import('../chaos/main.ts')
buildIfStale()
process.exitCode = await main(process.argv.slice(2))
