import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { serveDocs } from '../../scripts/docs.mjs'

it('where its port is taken the site is served on another one', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'punctual-docs-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'index.html'), 'the docs')
  const ports: number[] = []
  for (const wanted of [0, undefined]) {
    const server = await serveDocs(folder, wanted ?? ports[0] ?? 0)
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('the docs')
    ports.push(port)
  }
  expect(ports[0]).not.toBe(ports[1])
})
