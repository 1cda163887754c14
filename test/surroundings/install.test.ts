/** What `npm install punctual` brings, beside what a project has already. */
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { once } from '../shared.ts'
import { here, pack, Project, ROOT, SURROUNDINGS } from './project.ts'

const execute = promisify(execFile)

type Manifest = {
  readonly peerDependencies: Readonly<Record<string, string>>
  readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional?: boolean }>>
}

async function manifest(): Promise<Manifest> {
  return JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as Manifest
}

describe('the package', () => {
  it('is installed beside any version of its peers', async () => {
    const { peerDependencies, peerDependenciesMeta } = await manifest()
    const path = await mkdtemp(join(tmpdir(), 'punctual-install-'))
    onTestFinished(() => rm(path, { recursive: true, force: true }))
    const dependencies: Record<string, string> = { punctual: `file:${await once('package', pack)}` }
    // Versions that nobody asks for, of packages that only have a name: npm looks at nothing else.
    for (const name of Object.keys(peerDependencies)) {
      const folder = join(path, 'made', name.replaceAll(/\W/g, '-'))
      await mkdir(join(folder, 'package'), { recursive: true })
      await writeFile(join(folder, 'package', 'package.json'), JSON.stringify({ name, version: '0.0.1' }))
      await execute('tar', ['czf', `${folder}.tgz`, '-C', folder, 'package'])
      dependencies[name] = `file:${folder}.tgz`
    }
    dependencies['croner'] = `file:${await pack(path, here('croner'))}`
    await writeFile(join(path, 'package.json'), JSON.stringify({ name: 'project', dependencies }))
    const flags = ['--offline', '--no-audit', '--no-fund', '--loglevel=error', '--cache', join(path, '.npm')]
    await execute('npm', ['install', ...flags], { cwd: path })
    const { stdout } = await execute(
      process.execPath,
      ['-e', "console.log(typeof require('punctual').Punctual)"],
      { cwd: path },
    )
    expect(stdout.trim()).toBe('function')
    expect(Object.values(peerDependencies).filter((range) => range !== '*')).toEqual([])
    for (const name of Object.keys(peerDependencies)) expect(peerDependenciesMeta[name]?.optional).toBe(true)
  })

  it('has no source maps, no sources and no pictures, and is as small as docs/guides/surroundings.md says', async () => {
    const { stdout } = await execute('npm', ['pack', '--ignore-scripts', '--dry-run', '--json'], {
      cwd: ROOT,
    })
    const [{ files, unpackedSize }] = JSON.parse(stdout) as [
      { files: { path: string }[]; unpackedSize: number },
    ]
    const paths = files.map(({ path }) => path)
    expect(
      paths.filter((path) => /\.map$|^src\/|^test\/|\.(png|svg)$/.test(path) && !path.includes('dashboard')),
    ).toEqual([])
    expect(paths).toContain('dist/index.d.ts')
    const guide = await readFile(join(ROOT, 'docs/guides/surroundings.md'), 'utf8')
    const [, saidMB = '0'] = /([\d.]+) MB unpacked/.exec(guide) ?? []
    expect(unpackedSize / 1e6).toBeLessThan(Number(saidMB) * 1.25)
    const built = await readFile(join(ROOT, 'dist/index.js'), 'utf8')
    expect(built).not.toContain('sourceMappingURL')
  })

  it('every entry can be imported, and required', async () => {
    const project = await Project.make({ pg: here('pg'), amqplib: here('amqplib') })
    const entries = ['punctual', 'punctual/testing', 'punctual/server', 'punctual/amqp']
    await project.write(
      'all.mjs',
      entries.map((entry) => `console.log(Object.keys(await import('${entry}')).length > 0)`).join('\n'),
    )
    await project.write(
      'all.cjs',
      entries.map((entry) => `console.log(Object.keys(require('${entry}')).length > 0)`).join('\n'),
    )
    for (const file of ['all.mjs', 'all.cjs']) {
      const { stdout } = await project.node(['--no-warnings', file])
      expect(stdout).toBe('true\n'.repeat(entries.length))
    }
  })
})

describe('a client that is too old is refused when it is used, and its version named', () => {
  it('pg 8.22', async () => {
    const project = await Project.make({ pg: join(SURROUNDINGS, 'pg-8.22') })
    await project.write(
      'old.mjs',
      `import { Punctual } from 'punctual'
       const queue = new Punctual('postgres://127.0.0.1:1/nowhere')
       await queue.stats().catch(({ code, value }) => console.log(code, value))`,
    )
    const { stdout } = await project.node(['old.mjs'])
    expect(stdout).toContain('STORE_CLIENT_TOO_OLD 8.22.0')
  })

  it('amqplib 0.10', async () => {
    const project = await Project.make({ amqplib: join(SURROUNDINGS, 'amqplib-0.10') })
    const { code, stdout, stderr } = await project.node([
      'node_modules/punctual/dist/doors/cli/main.js',
      'bridge',
      'amqp://127.0.0.1:1',
      '--doctor',
    ])
    expect(code).toBe(1)
    expect(stdout + stderr).toContain(
      'the package "amqplib" is of version 0.10.9; the bridge needs 2 or newer',
    )
  })
})
