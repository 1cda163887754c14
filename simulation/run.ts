/** Entry of the command: the first line that Node runs of a build. */
import { main } from './main.ts'

process.exitCode = await main(process.argv.slice(2))
