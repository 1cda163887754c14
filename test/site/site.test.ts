/** The site, built and served as `npm run docs` does it: its links, and what a reader sees in a real browser. */
import { posix } from 'node:path'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { GROUPS } from '../../site/.vitepress/pages.ts'
import { flaws, overflow, until, useBrowser } from '../doors/dashboard/browser.ts'
import { useSite } from './built-site.ts'

const site = useSite()
const browser = useBrowser()

describe('links', () => {
  it('every link on every page leads to a page, and to a part of it that exists', () => {
    const pages = site.pages()
    const anchors = new Map([...pages].map(([path, html]) => [path, valuesOf(html, 'id')]))
    const broken = [...pages].flatMap(([path, html]) =>
      linksOf(html).flatMap((href) => {
        const { file, anchor } = targetOf(path, href)
        if (!site.has(file)) return [`${path}: ${href} leads to no page`]
        const isThere = anchor === '' || anchors.get(file)?.includes(anchor) === true
        return isThere ? [] : [`${path}: ${href} has no such part`]
      }),
    )
    expect(pages.size).toBeGreaterThan(GROUPS.flatMap(({ pages: placed }) => Object.keys(placed)).length)
    expect(broken).toEqual([])
  })

  it('agents find every page as Markdown in llms.txt, and what users need as one text', async () => {
    const listed = [...(await readText('/llms.txt')).matchAll(/^- \[.+?\]\((\/[^)\s]+\.md)\)/gm)].map(
      ([, path = '']) => path,
    )
    expect(listed).toHaveLength(GROUPS.flatMap(({ pages }) => Object.keys(pages)).length)
    for (const path of listed) expect(await readText(path), path).toMatch(/^# /m)
    const whole = await readText('/llms-full.txt')
    const users = GROUPS.filter(({ isFolded }) => isFolded !== true).flatMap(({ pages }) =>
      Object.keys(pages),
    )
    expect([...whole.matchAll(/^<!-- \/\S+\.md -->$/gm)]).toHaveLength(users.length)
    expect(whole).toContain('# Delays and moments')
  })

  it('an address that does not exist is answered with a page that says so', async () => {
    const response = await fetch(`${site.origin()}/guides/none.html`)
    expect([response.status, response.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8'])
    expect(await response.text()).toContain('404')
    expect((await fetch(`${site.origin()}/%2e%2e%2fpackage.json`)).status).toBe(404)
  })

  it('no page loads a script, a style, a font or a picture from elsewhere', () => {
    const foreign = [...site.pages()].flatMap(([path, html]) =>
      [
        ...html.matchAll(/<(?:script|link|img|source|iframe)\b[^>]*?(?:src|href)="(?:https?:)?\/\/[^"]*"/g),
      ].map(([tag]) => `${path}: ${tag}`),
    )
    expect(foreign).toEqual([])
  })
})

describe.runIf(browser.isThere)('in a browser', () => {
  it('opens with what it is for, and leads on', async () => {
    const page = await browser.open(site.origin())
    await until(() => page.locator('h1').innerText()).toContain('punctual')
    await page.locator('.VPHero a').first().click()
    await until(() => page.locator('.vp-doc h1').innerText()).not.toBe('')
    expect(await unreadable(page)).toEqual([])
  })

  it('fits a telephone, and its menu opens', async () => {
    const page = await browser.open(`${site.origin()}/api.html`, { viewport: { width: 360, height: 740 } })
    await page.locator('.VPLocalNav .menu').click()
    await until(() => page.locator('.VPSidebar.open').count()).toBe(1)
    expect(await overflow(page)).toBe(0)
  })

  it('asks nobody but its own server', async () => {
    const page = await browser.open('about:blank')
    const asked: string[] = []
    page.on('request', (request) => asked.push(request.url()))
    await page.goto(`${site.origin()}/api.html`, { waitUntil: 'networkidle' })
    expect(asked.length).toBeGreaterThan(3)
    expect(asked.filter((url) => !url.startsWith(site.origin()) && !url.startsWith('data:'))).toEqual([])
  })

  it('the search finds a code, and "reschedule"', async () => {
    const page = await browser.open(`${site.origin()}/states.html`)
    await page.locator('#local-search button').first().click()
    await page.locator('#localsearch-input').fill('STORE_FULL')
    await page.locator('#localsearch-list a', { hasText: 'Errors' }).first().waitFor()
    await page.locator('#localsearch-input').fill('reschedule')
    const found = page.locator('#localsearch-list a', { hasText: 'Cancel and reschedule' }).first()
    await found.click()
    await until(() => page.locator('.vp-doc h1').innerText()).toContain('eschedule')
  })

  it('is dark when asked, and stays so', async () => {
    const page = await browser.open(`${site.origin()}/states.html`, { colorScheme: 'light' })
    const background = (): Promise<string> => page.evaluate('getComputedStyle(document.body).backgroundColor')
    const light = await background()
    await page.locator('.VPNavBarAppearance .VPSwitchAppearance').click()
    await until(() => page.locator('html.dark').count()).toBe(1)
    await until(background).not.toBe(light)
    await page.reload()
    await until(() => page.locator('html.dark').count()).toBe(1)
    expect(await unreadable(page)).toEqual([])
  })

  it('the drawings follow the page, light or dark, whatever the system prefers', async () => {
    const page = await browser.open(`${site.origin()}/states.html`, { colorScheme: 'light' })
    const drawing = page.locator('.vp-doc img[src$=".svg"]')
    const brightness = async (): Promise<number> => brightnessOf(page, await drawing.screenshot())
    expect(await brightness()).toBeGreaterThan(200)
    await page.locator('.VPNavBarAppearance .VPSwitchAppearance').click()
    await until(brightness).toBeLessThan(80)
  })

  it('no page is wider than a telephone of 360 pixels', async () => {
    // The pages are whole without their scripts, which only cost time here.
    const page = await browser.open('about:blank', {
      viewport: { width: 360, height: 740 },
      javaScriptEnabled: false,
    })
    const wide: string[] = []
    for (const path of site.pages().keys()) {
      await page.goto(`${site.origin()}/${path}`)
      if ((await overflow(page)) > 0) wide.push(path)
    }
    expect(wide).toEqual([])
  })
})

/** Texts with too little contrast. The rest that axe would look at is the theme's. */
async function unreadable(page: Page): Promise<string[]> {
  return (await flaws(page)).filter((flaw) => flaw.startsWith('color-contrast'))
}

/** The mean of all pixels, 0 to 255. */
function brightnessOf(page: Page, png: Buffer): Promise<number> {
  return page.evaluate<number>(`(async () => {
    const image = new Image()
    image.src = 'data:image/png;base64,${png.toString('base64')}'
    await image.decode()
    const canvas = new OffscreenCanvas(image.width, image.height).getContext('2d')
    canvas.drawImage(image, 0, 0)
    const { data } = canvas.getImageData(0, 0, image.width, image.height)
    return data.reduce((sum, value, i) => (i % 4 === 3 ? sum : sum + value), 0) / (data.length * 0.75)
  })()`)
}

function valuesOf(html: string, attribute: string): string[] {
  return [...html.matchAll(new RegExp(` ${attribute}="([^"]*)"`, 'g'))].map(([, value]) =>
    decode(value ?? ''),
  )
}

/** All that stay on the site. */
function linksOf(html: string): string[] {
  const hrefs = [...html.matchAll(/<a\b[^>]*? href="([^"]*)"/g)].map(([, href]) => decode(href ?? ''))
  return [...new Set(hrefs)].filter((href) => !/^[a-z]+:/i.test(href))
}

function targetOf(page: string, href: string): { file: string; anchor: string } {
  const [path = '', anchor = ''] = href.split('#')
  const absolute = path === '' ? `/${page}` : posix.join('/', page, '..', path)
  const file = (path.startsWith('/') ? path : absolute).slice(1)
  return {
    file: file === '' || file.endsWith('/') ? `${file}index.html` : file,
    anchor: decodeURIComponent(anchor),
  }
}

function decode(text: string): string {
  return text
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&amp;', '&')
}

async function readText(path: string): Promise<string> {
  return (await fetch(site.origin() + path)).text()
}
