import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Punctual } from '../../../src/index.ts'
import { GIVEN_URL, queryAt } from './server.ts'
import { startPasswordServer, type PasswordServer } from './password-server.ts'

const LOGGED_IN = expect.objectContaining({
  code: 'STORE_REFUSED',
  message: expect.stringMatching(/1049|no such database/),
})

describe('a password over plain TCP, which the server does not remember', () => {
  it('is refused at once, with what to add to the URL', async () => {
    const { port } = await server()
    await expect(placeAt(`shop:secret@127.0.0.1:${port}/shop`)).rejects.toMatchObject({
      code: 'STORE_REFUSED',
      message: expect.stringMatching(/\?ssl=true.*\?publicKey=fetch.*\?publicKey=FILE/),
    })
  })

  it('goes encrypted with the key that the server gives', async () => {
    const { port } = await server()
    await expect(placeAt(`shop:secret@127.0.0.1:${port}/shop?publicKey=fetch`)).rejects.toEqual(LOGGED_IN)
    await expect(placeAt(`shop:wrong@127.0.0.1:${port}/shop?publicKey=fetch`)).rejects.toMatchObject({
      code: 'STORE_REFUSED',
      message: expect.stringContaining('does not know this user and password'),
    })
  })

  it('goes encrypted with the key of a file, and another server cannot read it', async () => {
    const [one, other] = await Promise.all([server(), server()])
    const file = fileWith(one.key)
    await expect(placeAt(`shop:secret@127.0.0.1:${one.port}/shop?publicKey=${file}`)).rejects.toEqual(
      LOGGED_IN,
    )
    await expect(placeAt(`shop:secret@127.0.0.1:${other.port}/shop?publicKey=${file}`)).rejects.not.toEqual(
      LOGGED_IN,
    )
  })

  it.each(['publicKey', 'sslca'])(
    '%s: a file that cannot be read is refused at once, by its path',
    async (option) => {
      const { port } = await server()
      await expect(
        placeAt(`shop:secret@127.0.0.1:${port}/shop?${option}=/not/there.pem`),
      ).rejects.toMatchObject({
        code: 'STORE_URL_INVALID',
        value: '/not/there.pem',
      })
    },
  )

  it('publicKey: a file with something else is refused', async () => {
    const { port } = await server()
    await expect(
      placeAt(`shop:secret@127.0.0.1:${port}/shop?publicKey=${fileWith('no key')}`),
    ).rejects.toMatchObject({
      code: 'STORE_URL_INVALID',
      message: expect.stringContaining('public_key.pem'),
    })
  })
})

// MariaDB has another default, so that this needs a MySQL that runs already: npm run test:servers -- --only mysql-9
if (await isMysql(GIVEN_URL))
  it('a queue works by its password, and again after the server forgot it', async () => {
    const admin = GIVEN_URL ?? ''
    const { host, pathname } = new URL(admin)
    const user = `shop${process.pid}`
    await queryAt(admin, `create user '${user}'@'%' identified with caching_sha2_password by 'secret'`)
    onTestFinished(() => void queryAt(admin, `drop user '${user}'@'%'`))
    await queryAt(admin, `grant all on *.* to '${user}'@'%'`)
    const plain = `${user}:secret@${host}${pathname}`
    await expect(placeAt(plain)).rejects.toMatchObject({ code: 'STORE_REFUSED' })
    await expect(placeAt(`${plain}?publicKey=fetch`)).resolves.toBeTypeOf('string')
    // What the server remembers of the password goes, as with a restart.
    await queryAt(admin, `alter user '${user}'@'%' identified with caching_sha2_password by 'secret'`)
    await expect(placeAt(plain)).rejects.toMatchObject({ code: 'STORE_REFUSED' })
    await expect(placeAt(`${plain}?publicKey=fetch`)).resolves.toBeTypeOf('string')
  })

async function server(): Promise<PasswordServer> {
  const started = await startPasswordServer('secret')
  onTestFinished(started.close)
  return started
}

async function placeAt(place: string): Promise<unknown> {
  const queue = new Punctual({ store: `mysql://${place}`, logger: false })
  try {
    return await queue.produce('order', {}, { delay: '1h' })
  } finally {
    // What goes on connecting would make the server remember the password.
    await queue.stop()
  }
}

function fileWith(text: string): string {
  const directory = mkdtempSync(join(tmpdir(), 'punctual-key-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const file = join(directory, 'public_key.pem')
  writeFileSync(file, text)
  return file
}

async function isMysql(url: string | undefined): Promise<boolean> {
  if (url === undefined) return false
  const [row] = await queryAt(url, 'select version() as version')
  return !/mariadb/i.test(String(row?.['version']))
}
