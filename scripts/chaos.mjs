// Runs the chaos suite against the built package. The suite is TypeScript, which Node 20 does not read by itself.
//
//   npm run chaos -- --engine redis --minutes 5
//   npm run chaos -- --help
import { register } from 'tsx/esm/api'
import { buildIfStale } from './setup.mjs'

register()
const { main } = await import('../chaos/main.ts')
buildIfStale()
const code = await main(process.argv.slice(2))
await Promise.all(
  [process.stdout, process.stderr].map((stream) => new Promise((done) => stream.write('', done))),
)
// Not left to Node: after sockets were reset, as the proxies do, its own clean-up can wait for them without end (20.20).
process.exit(code)
