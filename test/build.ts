/** Before all tests: dist/ as users get it, for those that start the real binary or an example. */
import { buildIfStale } from '../scripts/setup.mjs'

export function setup(): void {
  buildIfStale()
}
