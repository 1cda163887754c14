// Builds what package.json's `exports` names: plain ESM and types in dist/, the same as CommonJS for Jest, and the pages of the dashboard beside their
// server, as files whose names change with their contents.
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { build } from 'esbuild'
import { buildCommonJs } from './commonjs.mjs'
import { generate } from './generate.mjs'

const PAGES = 'src/doors/http/dashboard'
const BUILT = 'dist/doors/http/dashboard'

const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc')
generate()
rmSync('dist', { recursive: true, force: true })
execFileSync(process.execPath, [tsc, '-p', 'tsconfig.build.json'], { stdio: 'inherit' })
buildCommonJs()
await buildPages()

async function buildPages() {
  mkdirSync(BUILT, { recursive: true })
  const { metafile } = await build({
    entryPoints: { app: join(PAGES, 'main.tsx'), style: join(PAGES, 'style/style.css') },
    outdir: BUILT,
    entryNames: '[name]-[hash]',
    bundle: true,
    minify: true,
    format: 'esm',
    target: ['chrome111', 'firefox114', 'safari16.4'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    metafile: true,
    logLevel: 'warning',
  })
  const built = Object.keys(metafile.outputs).map((file) => basename(file))
  const page = readFileSync(join(PAGES, 'index.html'), 'utf8')
    .replace(
      '{{style}}',
      built.find((name) => name.endsWith('.css')),
    )
    .replace(
      '{{script}}',
      built.find((name) => name.endsWith('.js')),
    )
  writeFileSync(join(BUILT, 'index.html'), page)
  copyFileSync(join(PAGES, 'icon.svg'), join(BUILT, 'icon.svg'))
}
