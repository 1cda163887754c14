/** Each command in a process of its own, as a shell runs it, on the engines where `npm test` runs most of them in its own process. */
import { describeCommands } from './commands.ts'
import { mysqlEngine, postgresEngine, redisEngine } from './engines.ts'
import { Place } from './punctual.ts'

for (const engine of [redisEngine(), postgresEngine(), mysqlEngine()]) describeCommands(engine, Place)
