// Builds the simulator beside the sources it simulates, and runs it: Node 20 does not read TypeScript.
import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc')
rmSync('.simulation/build', { recursive: true, force: true })
execFileSync(process.execPath, [tsc, '-p', 'tsconfig.simulation.json'], { stdio: 'inherit' })
const { main } = await import(pathToFileURL(resolve('.simulation/build/simulation/main.js')).href)
process.exitCode = await main(process.argv.slice(2))
