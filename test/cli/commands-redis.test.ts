import { describeCommands } from './commands.ts'
import { redisEngine } from './engines.ts'

describeCommands(redisEngine())
