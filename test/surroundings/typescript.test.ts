/** The compiler that a new project gets. The older ones: typescript.long.test.ts. */
import { NEWEST, testTypeScript } from './compiling.ts'

testTypeScript([NEWEST])
