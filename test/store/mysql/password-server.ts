/**
 * The login of a MySQL 8 that does not remember the account's password, as after a restart: `caching_sha2_password` over plain TCP.
 * A right password is told that the database is not there, because MariaDB, on which all other tests run, has no such login.
 */
import { constants, generateKeyPairSync, privateDecrypt, type KeyObject } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'

const SEED = Buffer.from('a seed of 20 letters')
/** As `mysqld` says them: long passwords, protocol 4.1, with a database, several statements, plugins. */
const ABILITIES = 0x0000_0001 | 0x0000_0008 | 0x0000_0200 | 0x0000_2000 | 0x0000_8000 | 0x000b_0000
const NOT_REMEMBERED = Buffer.from([0x01, 0x04])
const KEY_PLEASE = 0x02

export type PasswordServer = { readonly port: number; readonly key: string; readonly close: () => void }

export async function startPasswordServer(password: string): Promise<PasswordServer> {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const key = publicKey.export({ type: 'spki', format: 'pem' }).toString()
  const open = new Set<Socket>()
  const server = createServer((socket) => {
    open.add(socket.on('close', () => open.delete(socket)).on('error', () => undefined))
    socket.write(packet(0, greeting()))
    let packets = 0
    socket.on('data', (data) => {
      packets += 1
      const [number = 0, body] = [data[3], data.subarray(4)]
      if (packets === 1) socket.write(packet(number + 1, login()))
      else if (packets === 2) socket.write(packet(number + 1, NOT_REMEMBERED))
      else if (body.length === 1 && body[0] === KEY_PLEASE)
        socket.write(packet(number + 1, Buffer.concat([Buffer.from([0x01]), Buffer.from(key)])))
      else {
        const isRight = passwordIn(body, privateKey) === password
        socket.end(packet(number + 1, isRight ? refusal(1049, '42000') : refusal(1045, '28000')))
      }
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    key,
    close: () => {
      server.close()
      for (const socket of open) socket.destroy()
    },
  }
}

/** Undefined: encrypted with another server's key. */
function passwordIn(body: Buffer, key: KeyObject): string | undefined {
  try {
    const hidden = privateDecrypt({ key, padding: constants.RSA_PKCS1_OAEP_PADDING }, body)
    return hidden
      .map((byte, index) => byte ^ (SEED[index % SEED.length] ?? 0))
      .toString()
      .replace(/\0$/, '')
  } catch {
    return undefined
  }
}

function greeting(): Buffer {
  const abilities = Buffer.alloc(4)
  abilities.writeUInt32LE(ABILITIES)
  return Buffer.concat([
    Buffer.from('\x0a9.7.4\0'),
    Buffer.from([1, 0, 0, 0]),
    SEED.subarray(0, 8),
    Buffer.from([0]),
    abilities.subarray(0, 2),
    Buffer.from([255, 2, 0]),
    abilities.subarray(2),
    Buffer.from([SEED.length + 1]),
    Buffer.alloc(10),
    SEED.subarray(8),
    Buffer.from('\0mysql_native_password\0'),
  ])
}

/** How this account logs in. */
function login(): Buffer {
  return Buffer.concat([Buffer.from('\xfecaching_sha2_password\0', 'latin1'), SEED, Buffer.alloc(1)])
}

function refusal(code: number, state: string): Buffer {
  return Buffer.concat([Buffer.from([0xff, code & 0xff, code >> 8]), Buffer.from(`#${state}no`)])
}

function packet(number: number, body: Buffer): Buffer {
  const head = Buffer.alloc(4)
  head.writeUIntLE(body.length, 0, 3)
  head[3] = number
  return Buffer.concat([head, body])
}
