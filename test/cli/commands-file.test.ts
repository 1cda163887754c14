import { describeCommands } from './commands.ts'
import { fileEngine } from './engines.ts'

describeCommands(fileEngine())
