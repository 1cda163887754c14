// Runs the tests on other versions of Node, each taken from npm's package "node" into a scratch folder.
//   npm run test:nodes                       22, 24 and 26, every test
//   npm run test:nodes -- 24 test/core       one of them, some tests
import { spawnSync } from 'node:child_process'
import { delimiter, join } from 'node:path'
import { installNode } from './node-versions.mjs'
import { ROOT } from './setup.mjs'

const DEFAULT_VERSIONS = ['22', '24', '26']

const words = process.argv.slice(2)
const versions = words.filter((word) => /^\d+$/.test(word))
const paths = words.filter((word) => !/^\d+$/.test(word))
const failed = []
for (const version of versions.length === 0 ? DEFAULT_VERSIONS : versions) {
  const bin = installNode(version)
  const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` }
  console.log(
    `\u2022 Node ${spawnSync(join(bin, 'node'), ['--version'], { encoding: 'utf8' }).stdout.trim()}`,
  )
  const { status } = spawnSync(
    join(bin, 'node'),
    [join(ROOT, 'scripts', 'test.mjs'), ...(paths.length === 0 ? ['--all'] : paths)],
    {
      cwd: ROOT,
      env,
      stdio: 'inherit',
    },
  )
  if (status !== 0) failed.push(version)
}
console.log(failed.length === 0 ? 'passed on every version' : `failed on Node ${failed.join(', ')}`)
process.exit(failed.length === 0 ? 0 : 1)
