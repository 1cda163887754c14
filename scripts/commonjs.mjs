// The same modules once more as CommonJS, in dist/commonjs/, for runners that cannot `require` an ES module: Jest without a flag, on
// every Node. Node itself never loads them ("module-sync" in package.json comes first), so that no process has two copies by chance.
//
// One file for each, so that all entries share their classes. `import.meta.url` names the ES module of the same place: threads and
// the pages of the dashboard are there once.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { transformSync } from 'esbuild'

const FROM = 'dist'
const INTO = join('dist', 'commonjs')
/** A program, and the pages that a browser loads. */
const LEFT_OUT = /^(doors\/cli|doors\/http\/dashboard|commonjs)\//

export function buildCommonJs() {
  const files = readdirSync(FROM, { recursive: true, encoding: 'utf8' })
    .map((file) => file.split(sep).join('/'))
    .filter((file) => file.endsWith('.js') && !LEFT_OUT.test(file))
  for (const file of files) {
    const into = join(INTO, file)
    mkdirSync(dirname(into), { recursive: true })
    writeFileSync(into, commonJsOf(file, relative(dirname(into), join(FROM, file))))
  }
  writeFileSync(join(INTO, 'package.json'), '{"type":"commonjs"}\n')
}

function commonJsOf(file, original) {
  const code = readFileSync(join(FROM, file), 'utf8')
  const place = `const moduleUrl = require('node:url').pathToFileURL(require('node:path').join(__dirname, ${JSON.stringify(original)})).href;\n`
  return transformSync(code, {
    format: 'cjs',
    platform: 'node',
    target: 'node20',
    minifyWhitespace: true,
    legalComments: 'none',
    // Jest refuses `import()` in a CommonJS module.
    supported: { 'dynamic-import': false },
    define: { 'import.meta.url': 'moduleUrl' },
    banner: code.includes('import.meta.url') ? place : '',
    sourcefile: file,
  }).code
}
