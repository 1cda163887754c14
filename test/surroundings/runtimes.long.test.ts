/** Bun and Deno run what docs/guides/surroundings.md says, on the package as it would be published. */
import { chmodSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { SHARED_ENGINES } from '../process/engines.ts'
import { here, Project, ROOT } from './project.ts'

const MODULES = join(ROOT, 'test/packages/runtimes/node_modules')

/** The programs come in packages for each platform; the first that is there. */
function programOf(places: readonly string[]): string {
  const found = places.map((place) => join(MODULES, place)).find((place) => existsSync(place))
  if (found === undefined) throw new Error(`none of these is installed: ${places.join(', ')}`)
  chmodSync(found, 0o755) // Which its own script would do; none is run.
  return found
}

const { platform, arch } = process
const RUNTIMES = [
  {
    name: 'Bun',
    args: ['run'],
    places: [`@oven/bun-${platform}-${arch === 'arm64' ? 'aarch64' : arch}/bin/bun`],
  },
  {
    name: 'Deno',
    args: ['run', '-A'],
    places: [`@deno/${platform}-${arch}-glibc/deno`, `@deno/${platform}-${arch}/deno`],
  },
] as const

const PROGRAM = `
  import { Punctual } from 'punctual'
  const queue = new Punctual({ store: process.argv[2], logger: false, queue: 'elsewhere' })
  try {
    const ran = new Promise((resolve) => queue.handle('t', ({ payload, latenessMs }) => resolve([payload, latenessMs >= 0])))
    await queue.start()
    await queue.produce('t', { n: 42 }, { delay: '300ms' })
    const seen = await ran
    const { abandoned } = await queue.stop()
    console.log(JSON.stringify([seen, abandoned]))
  } catch ({ code }) {
    console.log(JSON.stringify(code))
  }
  process.exit(0)
`

const ENGINES = [{ name: 'memory', open: async (): Promise<string> => 'memory:' }, ...SHARED_ENGINES]

describe.each(RUNTIMES)('$name', ({ name, args, places }) => {
  it.each(ENGINES)('$name', async ({ name: engine, open }) => {
    const project = await Project.make({ pg: here('pg'), mariadb: here('mariadb') })
    await project.write('main.mjs', PROGRAM)
    const { stdout, stderr } = await project.run(programOf(places), [...args, 'main.mjs', await open()])
    const isRefused = name === 'Deno' && engine === 'file'
    expect(stdout.trim(), stderr).toBe(isRefused ? '"UNSUPPORTED"' : '[[{"n":42},true],0]')
  })
})
