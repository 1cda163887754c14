import { describeCommands } from './commands.ts'
import { fileEngine } from './engines.ts'
import { Place } from './punctual.ts'

describeCommands(fileEngine(), Place)
