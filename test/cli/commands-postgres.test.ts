import { describeCommands } from './commands.ts'
import { postgresEngine } from './engines.ts'

describeCommands(postgresEngine())
