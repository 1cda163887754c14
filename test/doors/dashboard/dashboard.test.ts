/** The dashboard in a real browser, on a real server. One file, because they share one browser. */
import { describe } from 'vitest'
import { useBrowser } from './browser.ts'
import { describeFlows } from './cases/flows.ts'
import { describeOutage } from './cases/outage.ts'
import { describePages } from './cases/pages.ts'
import { describeSafety } from './cases/safety.ts'
import { describeWatching } from './cases/watching.ts'
import { describeZones } from './cases/zones.ts'

const surfer = useBrowser()

describe.skipIf(!surfer.isThere)('in Chromium', () => {
  describePages(surfer)
  describeFlows(surfer)
  describeSafety(surfer)
  describeOutage(surfer)
  describeZones(surfer)
  describeWatching(surfer)
})
