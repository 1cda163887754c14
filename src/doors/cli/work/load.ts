/**
 * A module of handlers, in JavaScript or TypeScript. Its default export, or its export called `handlers`, is
 * `{ topic: function }` or `{ topic: { handler: function, concurrency, timeout, retry } }`.
 *
 * Two can read TypeScript: a Node that strips types by itself (22.18 and later), or `tsx` where it is
 * installed beside the module. It is no dependency of ours: who writes JavaScript need not carry it.
 */
import { createRequire } from 'node:module'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { HandleOptions, Handler } from '../../../index.ts'
import { CallError, FailedError } from '../../shared/failure.ts'

export type LoadedHandler = {
  readonly topic: string
  readonly handler: Handler
  readonly options: HandleOptions
}

const TYPESCRIPT = /\.[cm]?tsx?$/

export async function loadHandlers(file: string): Promise<LoadedHandler[]> {
  const path = resolve(file)
  if (!existsSync(path)) throw new CallError(`there is no file ${path}.`)
  if (TYPESCRIPT.test(path) && !nodeReadsTypeScript()) await registerTsx(path)
  return handlersOf(await importModule(path), file)
}

function nodeReadsTypeScript(): boolean {
  // Newer than the types of the oldest Node that we support.
  return Boolean((process.features as { readonly typescript?: unknown }).typescript)
}

/** What `node --import tsx` does, after the start: the module is the first thing that needs it. */
async function registerTsx(path: string): Promise<void> {
  await import(pathToFileURL(findTsx(path)).href)
}

function findTsx(path: string): string {
  try {
    return createRequire(path).resolve('tsx')
  } catch {
    throw new FailedError(
      `Node ${process.versions.node} does not read TypeScript: install tsx beside ${path}, use Node 22.18 or later, or build it to JavaScript.`,
    )
  }
}

async function importModule(path: string): Promise<unknown> {
  try {
    return await import(pathToFileURL(path).href)
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new FailedError(`${path} could not be loaded: ${why}`, { cause })
  }
}

type HandlerModule = { readonly default?: unknown; readonly handlers?: unknown }

/** A module that was built to CommonJS stands as a whole behind the default export. */
function exportsOf(module: unknown): HandlerModule {
  const { default: preset } = module as HandlerModule
  const isWrapped = typeof preset === 'object' && preset !== null && '__esModule' in preset
  return (isWrapped ? preset : module) as HandlerModule
}

function handlersOf(module: unknown, file: string): LoadedHandler[] {
  const { default: preset, handlers = preset } = exportsOf(module)
  if (typeof handlers !== 'object' || handlers === null || Object.keys(handlers).length === 0) {
    throw new FailedError(
      `${file} exports no handlers; write: export default { 'order.close': async ({ payload }) => { ... } }`,
    )
  }
  return Object.entries(handlers).map(([topic, value]) => handlerOf(topic, value, file))
}

function handlerOf(topic: string, value: unknown, file: string): LoadedHandler {
  if (typeof value === 'function') return { topic, handler: value as Handler, options: {} }
  if (
    typeof value === 'object' &&
    value !== null &&
    'handler' in value &&
    typeof value.handler === 'function'
  ) {
    const { handler, ...options } = value
    return { topic, handler: handler as Handler, options }
  }
  throw new FailedError(`"${topic}" in ${file} is neither a function nor { handler: function, ... }.`)
}
