/**
 * A real Chromium, of the system's packages. Every page that it opens is watched: errors in the console, exceptions, and
 * what the content security policy refused are gathered, and a test ends with none.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'

/** Where it is, or undefined. */
const PROGRAM = ['chromium', 'chromium-browser', 'google-chrome']
  .map((name) => spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).stdout.trim())
  .find((path) => path !== '')

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** What the policy refused becomes an error in the console. Scripts for the page are texts: this side has no `document`. */
const TELL_REFUSALS = `addEventListener('securitypolicyviolation', (event) =>
  console.error('policy: ' + event.violatedDirective + ' refused ' + event.blockedURI))`

export type Surfer = {
  readonly isThere: boolean
  /** A page of its own, with nothing remembered. */
  readonly open: (url: string, options?: BrowserContextOptions) => Promise<Page>
  /** Closes all pages: before the server that they listen to. */
  readonly leave: () => Promise<void>
  /** What went wrong so far on all pages of this test; asking forgets it. */
  readonly troubles: () => string[]
}

export function useBrowser(): Surfer {
  let browser: Browser
  const troubles: string[] = []
  const isThere = PROGRAM !== undefined
  beforeAll(async () => {
    if (isThere) browser = await chromium.launch({ executablePath: PROGRAM })
  })
  afterAll(async () => {
    if (isThere) await browser.close()
  })
  const leave = async (): Promise<void> => {
    for (const context of browser.contexts()) await context.close()
  }
  afterEach(async () => {
    if (!isThere) return
    await leave()
    expect(troubles.splice(0)).toEqual([])
  })
  return {
    isThere,
    leave,
    troubles: () => troubles.splice(0),
    open: async (url, options = {}) => {
      const context = await browser.newContext({ viewport: { width: 1_280, height: 900 }, ...options })
      await context.addInitScript(TELL_REFUSALS)
      const page = await context.newPage()
      page.on('console', (message) => {
        if (message.type() === 'error') troubles.push(`${page.url()}: ${message.text()}`)
      })
      page.on('pageerror', (error) => troubles.push(`${page.url()}: ${error.stack ?? error.message}`))
      await page.goto(url)
      return page
    },
  }
}

const PATIENCE_MS = 120_000

/** Asks again until it is so. */
export function until<T>(ask: () => T | Promise<T>): ReturnType<typeof expect.poll<T>> {
  return expect.poll(ask, { timeout: PATIENCE_MS })
}

/** Shown, and every question of it answered. */
export async function settled(page: Page): Promise<void> {
  await page.locator('h1').first().waitFor()
  await until(() => page.locator('.loading, .is-old').count()).toBe(0)
  await until(() => page.getByText('Looking…').count()).toBe(0)
}

/** The ids of the rows of messages, from above. */
export async function ids(page: Page): Promise<string[]> {
  return (await page.locator('tbody a.id').allInnerTexts()).map((text) => text.trim())
}

type AxeFinding = {
  readonly id: string
  readonly help: string
  readonly nodes: readonly { readonly html: string }[]
}

/** What axe finds wrong, in words. */
export async function flaws(page: Page): Promise<string[]> {
  await page.evaluate(AXE)
  const found = await page.evaluate<AxeFinding[]>(
    'axe.run(document).then(({ violations }) => violations.map(({ id, help, nodes }) => ({ id, help, nodes: nodes.map(({ html }) => ({ html })) })))',
  )
  return found.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html).join(' | ')}`)
}

/** How far the page is wider than its window. */
export function overflow(page: Page): Promise<number> {
  return page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
}
