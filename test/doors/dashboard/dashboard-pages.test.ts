/** Every page of the dashboard, in a real browser on a real server. */
import { describe } from 'vitest'
import { useBrowser } from './browser.ts'
import { describePages } from './cases/pages.ts'

const surfer = useBrowser()

describe.skipIf(!surfer.isThere)('in Chromium', () => {
  describePages(surfer)
})
