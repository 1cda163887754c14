/** Compilers that users have not replaced yet. They take minutes. */
import { testTypeScript } from './compiling.ts'

testTypeScript(['5.4', '5.9', '6.0'])
