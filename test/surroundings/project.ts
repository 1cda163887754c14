/** A project of a user: an empty folder in which the package was installed as it would be published. */
import { execFile, type ExecFileException } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { onTestFinished } from 'vitest'
import { once } from '../shared.ts'

export const ROOT = resolve(import.meta.dirname, '../..')
export const SURROUNDINGS = join(ROOT, 'test/packages/surroundings/node_modules')

const execute = promisify(execFile)

export type Ended = { readonly code: number; readonly stdout: string; readonly stderr: string }

/** What `npm pack` makes of a package; of ours, with the build that the tests began with. */
export async function pack(into: string, from = ROOT): Promise<string> {
  const { stdout } = await execute(
    'npm',
    ['pack', '--ignore-scripts', '--silent', '--pack-destination', into],
    {
      cwd: from,
    },
  )
  return join(into, stdout.trim())
}

export class Project {
  readonly path: string

  private constructor(path: string) {
    this.path = path
  }

  /** `packages`: beside punctual and what it depends on, by name, where they are installed here. */
  static async make(packages: Readonly<Record<string, string>> = {}): Promise<Project> {
    const path = await mkdtemp(join(tmpdir(), 'punctual-project-'))
    onTestFinished(() => rm(path, { recursive: true, force: true }))
    const project = new Project(path)
    await project.write('package.json', '{ "type": "module" }')
    await execute('tar', ['xzf', await once('package', pack)], { cwd: path })
    await mkdir(join(path, 'node_modules'))
    await rename(join(path, 'package'), join(path, 'node_modules', 'punctual'))
    const own = ['croner', '@photostructure/sqlite'].map((name) => [name, here(name)] as const)
    for (const [name, from] of [...own, ...Object.entries(packages)]) {
      await mkdir(dirname(join(path, 'node_modules', name)), { recursive: true })
      await symlink(from, join(path, 'node_modules', name))
    }
    return project
  }

  async write(file: string, text: string): Promise<void> {
    await mkdir(dirname(join(this.path, file)), { recursive: true })
    await writeFile(join(this.path, file), text)
  }

  read(file: string): Promise<string> {
    return readFile(join(this.path, file), 'utf8')
  }

  node(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
    return this.run(process.execPath, args, env)
  }

  /** Resolves however it ends. */
  async run(program: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
    // What the runner of these tests has set for its own children must not reach another runner.
    const { VITEST, NODE_OPTIONS, NODE_TEST_CONTEXT, ...clean } = process.env
    void [VITEST, NODE_OPTIONS, NODE_TEST_CONTEXT]
    return execute(program, args, { cwd: this.path, env: { ...clean, ...env } }).then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      (error: ExecFileException & Ended) => ({ ...error, code: error.code ?? 1 }),
    )
  }
}

/** A package of this project. */
export function here(name: string): string {
  return join(ROOT, 'node_modules', name)
}
