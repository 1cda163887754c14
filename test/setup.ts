/** Before each test file. */
import { measureFile } from './costs.ts'

measureFile()
