// The docs as a site: builds it from docs/ and serves it on this machine.
//   npm run docs                    builds, then serves on http://127.0.0.1:4173, or a free port, until Ctrl-C
//   npm run docs -- --build         only builds
//   npm run docs -- --out DIR       builds into DIR instead of site/.vitepress/dist
//   npm run docs -- --port 0        any free port
import { createReadStream, statSync } from 'node:fs'
import { createServer } from 'node:http'
import { extname, join, resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { ROOT, checkNode, installSite } from './setup.mjs'

const SITE = join(ROOT, 'site')

const TYPES = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.md': 'text/markdown; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
}

export async function buildDocs(outDir) {
  installSite()
  const { build } = await import(pathToFileURL(join(SITE, 'node_modules/vitepress/dist/node/index.js')).href)
  await build(SITE, { outDir })
}

/** Serves a folder to this machine only; on any free port where this one is taken. */
export async function serveDocs(folder, port) {
  try {
    return await listenOn(folder, port)
  } catch (error) {
    if (port === 0) throw error
    return listenOn(folder, 0)
  }
}

function listenOn(folder, port) {
  const server = createServer(({ url }, response) => {
    const found = fileFor(folder, new URL(url ?? '/', 'http://site').pathname)
    const file = found ?? join(folder, '404.html')
    response.writeHead(found === undefined ? 404 : 200, {
      'content-type': TYPES[extname(file)] ?? 'application/octet-stream',
    })
    createReadStream(file).pipe(response)
  })
  return new Promise((done, fail) => {
    server.once('error', fail)
    server.listen(port, '127.0.0.1', () => done(server))
  })
}

/** The file that an address names; undefined when there is none, or when it lies outside of the folder. */
function fileFor(folder, pathname) {
  let path
  try {
    path = join(folder, decodeURIComponent(pathname))
  } catch {
    return undefined
  }
  if (!`${path}${sep}`.startsWith(`${folder}${sep}`)) return undefined
  const candidates = [path, `${path}.html`, join(path, 'index.html')]
  return candidates.find((candidate) => statSync(candidate, { throwIfNoEntry: false })?.isFile() === true)
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  checkNode()
  const { values } = parseArgs({
    options: {
      build: { type: 'boolean' },
      out: { type: 'string' },
      port: { type: 'string', default: '4173' },
    },
  })
  const folder = resolve(values.out ?? join(SITE, '.vitepress/dist'))
  await buildDocs(folder)
  if (values.build !== true) {
    const server = await serveDocs(folder, Number(values.port))
    console.log(`The docs are on http://127.0.0.1:${server.address().port}, until Ctrl-C`)
  }
}
