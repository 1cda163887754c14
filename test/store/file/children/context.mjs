/** What a store is made with. */
import { args, fromBuild, say } from './bare.mjs'

export { args, fromBuild, say } from './bare.mjs'

const { systemClock } = await fromBuild('clock.js')
const { systemRandom } = await fromBuild('random.js')

export const context = {
  queue: args.queue ?? 'orders',
  clock: systemClock,
  random: systemRandom,
  logger: { debug() {}, info() {}, warn: say, error: say },
}
