/** Opens and closes the directory again and again, until `stop` exists. */
import { existsSync } from 'node:fs'
import { args, fromBuild, say } from './bare.mjs'

const { acquireEnvironment, releaseEnvironment } = await fromBuild('store/file/environment.js')
const logger = { debug() {}, info() {}, warn: say, error: say }
for (let opens = 1; !existsSync(args.stop); opens += 1) {
  await releaseEnvironment(await acquireEnvironment(args.directory, 'full', logger))
  if (opens === 1) say('opening')
}
