// Builds the simulator beside the sources it simulates, and runs it: Node 20 does not read TypeScript.
//
//   npm run simulate -- --seeds 1000 --from 1
//   npm run simulate -- --seed 4711 --trace
//   npm run simulate -- --mutants            plants known mistakes; add words of their names to choose some
import { spawn, execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { generate } from './generate.mjs'

const SEEDS_PER_MUTANT = 1_000
const MUTANT_PATIENCE_MS = 180_000
const SOURCES = ['src', 'simulation']
/** Of this run alone, so that several can go on side by side; gone when it ends. */
const WORK = join('.simulation', String(process.pid))

const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc')

/** Builds the sources in `from`; answers where. */
function build(from) {
  const out = join(WORK, 'build', from)
  rmSync(out, { recursive: true, force: true })
  mkdirSync(out, { recursive: true })
  const config = join(out, 'tsconfig.json')
  writeFileSync(
    config,
    JSON.stringify({
      extends: resolve('tsconfig.json'),
      compilerOptions: {
        noEmit: false,
        noCheck: true, // `npm run types` does that; a mutant need not.
        allowImportingTsExtensions: false,
        sourceMap: true,
        rootDir: resolve(from),
        outDir: resolve(out),
        typeRoots: [resolve('node_modules/@types')],
      },
      include: SOURCES.map((source) => resolve(from, source)),
    }),
  )
  execFileSync(process.execPath, [tsc, '-p', config], { stdio: 'inherit' })
  return out
}

function run(built, args, options) {
  return new Promise((done) => {
    const child = spawn(process.execPath, [join(built, 'simulation/run.js'), ...args], options)
    let text = ''
    child.stdout?.on('data', (chunk) => (text += chunk))
    child.on('close', (code, signal) => done({ code, signal, text }))
  })
}

/** A copy of the sources with one mistake in it. */
function plant({ name, file, find, replace }, number) {
  const copy = join(WORK, 'mutants', String(number))
  rmSync(copy, { recursive: true, force: true })
  for (const source of SOURCES) cpSync(source, join(copy, source), { recursive: true })
  const before = readFileSync(file, 'utf8')
  const pieces = before.split(find)
  if (pieces.length !== 2) {
    throw new Error(`mutant "${name}": its text occurs ${pieces.length - 1} times in ${file}; plant it again`)
  }
  writeFileSync(join(copy, file), pieces.join(replace))
  return copy
}

async function runMutants(words) {
  const { MUTANTS } = await import(pathToFileURL(resolve(build('.'), 'simulation/mutants.js')).href)
  const chosen = MUTANTS.filter(({ name }) => words.every((word) => name.includes(word)))
  let survivors = 0
  for (const mutant of chosen) {
    const built = build(plant(mutant, MUTANTS.indexOf(mutant)))
    const { code, text } = await run(built, ['--brief', '--seeds', String(SEEDS_PER_MUTANT)], {
      stdio: ['ignore', 'pipe', 'inherit'],
      timeout: MUTANT_PATIENCE_MS,
    })
    const isCaught = code === 1
    if (!isCaught) survivors += 1
    console.log(`${isCaught ? 'caught  ' : 'SURVIVED'}  ${mutant.name}\n            ${text.trim()}`)
  }
  console.log(`${chosen.length - survivors} of ${chosen.length} mutants caught`)
  return survivors === 0 && chosen.length > 0 ? 0 : 1
}

const args = process.argv.slice(2)
generate()
if (args[0] === '--mutants') process.exitCode = await runMutants(args.slice(1))
else process.exitCode = (await run(build('.'), args, { stdio: 'inherit' })).code ?? 1
rmSync(WORK, { recursive: true, force: true })
