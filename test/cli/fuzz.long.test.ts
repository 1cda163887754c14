/** The same runs, and more of them. */
import { fuzz } from './fuzz.ts'

fuzz(60)
