import { fuzz } from './fuzz.ts'

fuzz(24)
