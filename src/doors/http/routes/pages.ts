/**
 * The dashboard: files that the build puts beside this one. Their names change with their contents, so that a browser may
 * keep them without end; the page that names them is asked for each time. Every path that is no file is a page of the
 * dashboard, whose script reads the address. No code or style stands in the page, so that the policy forbids both.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { HttpRefusal } from '../wire/problem.ts'
import { defineRoute, type HttpCall, type HttpReply, type HttpRoute } from '../table/route.ts'

const FOLDER = new URL('../dashboard/', import.meta.url)
const PAGE = 'index.html'

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
}

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'self'",
  "require-trusted-types-for 'script'",
].join('; ')

const HEADERS = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  vary: 'accept-encoding',
}

type PageFile = { readonly type: string; readonly plain: Uint8Array; readonly zipped: Uint8Array }

/** Undefined where the pages were not built: in the source tree. */
const FILES = readFiles()

export const HAS_DASHBOARD = FILES !== undefined

function readFiles(): ReadonlyMap<string, PageFile> | undefined {
  const names = namesIn(FOLDER)
  if (!names.some((name) => name.endsWith('.js'))) return undefined
  return new Map(
    names.flatMap((name) => {
      const type = TYPES[name.split('.').at(-1) ?? '']
      return type === undefined ? [] : [[name, fileOf(type, readFileSync(new URL(name, FOLDER)))]]
    }),
  )
}

function namesIn(folder: URL): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function fileOf(type: string, plain: Uint8Array): PageFile {
  return { type, plain, zipped: gzipSync(plain) }
}

/** The page names its files below the base path, which is the same for every call of a server. */
const pages = new Map<string, PageFile>()

function pageBelow(basePath: string, template: PageFile): PageFile {
  let page = pages.get(basePath)
  if (page === undefined) {
    const text = new TextDecoder()
      .decode(template.plain)
      .replaceAll('{{ui}}', `${basePath}/ui`)
      .replaceAll('{{base}}', basePath)
    page = fileOf(template.type, new TextEncoder().encode(text))
    pages.set(basePath, page)
  }
  return page
}

function show({ params, request, server }: HttpCall): HttpReply {
  const template = FILES?.get(PAGE)
  if (template === undefined)
    throw new HttpRefusal('ROUTE_UNKNOWN', 'the dashboard is not built: run "npm run build".')
  const { rest = '' } = params
  const file = rest === PAGE ? undefined : FILES?.get(rest)
  const isZipped = /\bgzip\b/.test(request.header('accept-encoding') ?? '')
  const { type, plain, zipped } = file ?? pageBelow(server.basePath, template)
  return {
    status: 200,
    bytes: isZipped ? zipped : plain,
    headers: {
      ...HEADERS,
      'content-type': type,
      'cache-control': file === undefined ? 'no-cache' : 'public, max-age=31536000, immutable',
      ...(isZipped ? { 'content-encoding': 'gzip' } : {}),
    },
  }
}

/** People type the address of the server. Programs are told where to look. */
function welcome({ request, server }: HttpCall): HttpReply {
  if (HAS_DASHBOARD && /\btext\/html\b/.test(request.header('accept') ?? ''))
    return { status: 302, headers: { location: `${server.basePath}/ui`, vary: 'accept' } }
  const dashboard = HAS_DASHBOARD ? `the dashboard is at ${server.basePath}/ui, ` : ''
  throw new HttpRefusal(
    'ROUTE_UNKNOWN',
    `there is nothing at /: ${dashboard}the API is described at ${server.basePath}/openapi.json.`,
  )
}

/** Its state is in its address, which only its script reads. */
const ABOUT = {
  method: 'GET',
  operation: 'getPage',
  hasFreeQuery: true,
  scope: 'none',
  summary: 'the dashboard: its pages and their files',
  answers: { 200: 'bytes' },
  handle: show,
} as const

/** Beside the table of the API: pages are for people. */
export const PAGE_ROUTES: readonly HttpRoute[] = [
  defineRoute({ ...ABOUT, path: '/', answers: { 302: 'nothing' }, handle: welcome }),
  defineRoute({ ...ABOUT, path: '/ui' }),
  defineRoute({ ...ABOUT, path: '/ui/{rest*}' }),
]
