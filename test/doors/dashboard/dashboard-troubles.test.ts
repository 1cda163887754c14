/** The dashboard in outages, zones and company, in a real browser on a real server. */
import { describe } from 'vitest'
import { useBrowser } from './browser.ts'
import { describeOutage } from './cases/outage.ts'
import { describeZones } from './cases/zones.ts'
import { describeWatching } from './cases/watching.ts'

const surfer = useBrowser()

describe.skipIf(!surfer.isThere)('in Chromium', () => {
  describeOutage(surfer)
  describeZones(surfer)
  describeWatching(surfer)
})
