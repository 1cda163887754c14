/** The bridge on a RabbitMQ that is cut off, starved and killed: a node of its own. */
import { describe } from 'vitest'
import { useBroker } from './broker.ts'
import { describeFaults } from './cases/faults.ts'

const broker = useBroker()

describe.skipIf(!broker.isThere || broker.isGiven)('on a node of its own', () => describeFaults(broker))
