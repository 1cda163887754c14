/** What one does in the dashboard, in a real browser on a real server. Few files, because each starts a browser. */
import { describe } from 'vitest'
import { useBrowser } from './browser.ts'
import { describeFlows } from './cases/flows.ts'
import { describeKeys } from './cases/keys.ts'
import { describeLiving } from './cases/living.ts'
import { describeSafety } from './cases/safety.ts'

const surfer = useBrowser()

describe.skipIf(!surfer.isThere)('in Chromium', () => {
  describeFlows(surfer)
  describeSafety(surfer)
  describeLiving(surfer)
  describeKeys(surfer)
})
