/** `npm ci` needs a lock file that is whole: every optional package of every platform, and no address of a registry. */
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')

type Locked = { readonly optionalDependencies?: Record<string, string>; readonly resolved?: string }

describe.each([
  'package-lock.json',
  'bench/package-lock.json',
  'test/mutation/package-lock.json',
  'test/packages/migrating/package-lock.json',
  'test/packages/nest-11/package-lock.json',
  'test/packages/nest-12/package-lock.json',
  'test/packages/runtimes/package-lock.json',
  'test/packages/web/package-lock.json',
  'test/packages/recipes/package-lock.json',
  'site/package-lock.json',
  'test/packages/surroundings/package-lock.json',
])('%s', (file) => {
  const { packages } = JSON.parse(readFileSync(join(ROOT, file), 'utf8')) as {
    packages: Record<string, Locked>
  }

  it('holds the optional packages of every platform', () => {
    const missing = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies).filter(
        (name) =>
          packages[`node_modules/${name}`] === undefined &&
          packages[`${path}/node_modules/${name}`] === undefined,
      ),
    )
    expect(missing, 'pin a version that is offered for every platform').toEqual([])
  })

  it('names no registry', () => {
    const named = Object.entries(packages).filter(([, { resolved }]) => resolved?.includes('://') === true)
    expect(named.map(([path]) => path)).toEqual([])
  })
})
