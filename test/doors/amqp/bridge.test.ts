/** The bridge on a real RabbitMQ. Few files, because a node takes seconds to start. */
import { describe } from 'vitest'
import { useBroker } from './broker.ts'
import { describeCommand } from './cases/command.ts'
import { describeMessages } from './cases/messages.ts'
import { describeSeveral } from './cases/several.ts'

const broker = useBroker()

describe.skipIf(!broker.isThere)('on a broker', () => {
  describeMessages(broker)
  describeSeveral(broker)
  describeCommand(broker)
})
