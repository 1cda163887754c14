import { describeCommands } from './commands.ts'
import { mysqlEngine } from './engines.ts'

describeCommands(mysqlEngine())
