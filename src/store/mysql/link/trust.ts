/** By what a session trusts its server, as options of the driver: TLS, or the key with which a password is encrypted without TLS. */
import { readFile } from 'node:fs/promises'
import { UsageError } from '../../../core/errors.ts'
import type { MysqlAddress, PublicKeySource } from '../address/url.ts'

export async function trustOf({ ssl, sslca, publicKey }: MysqlAddress): Promise<object> {
  return { ...(await tlsOf(ssl, sslca)), ...(publicKey === undefined ? {} : await keyOf(publicKey)) }
}

async function tlsOf(ssl: MysqlAddress['ssl'], sslca: string | undefined): Promise<object> {
  if (ssl === undefined && sslca === undefined) return {}
  const ca = sslca === undefined ? {} : { ca: await readPem(sslca) }
  return { ssl: { rejectUnauthorized: ssl !== 'skip-verify', ...ca } }
}

async function keyOf(source: PublicKeySource): Promise<object> {
  if (source.from === 'server') return { allowPublicKeyRetrieval: true }
  const key = (await readPem(source.path)).toString('utf8')
  if (!key.includes('-----BEGIN PUBLIC KEY-----'))
    throw new UsageError(
      'STORE_URL_INVALID',
      `the file ${source.path} (publicKey in the store URL) holds no public key; the server keeps its own as public_key.pem in its data folder.`,
      { value: source.path },
    )
  // Of two ways to log in, with a memory of passwords (caching_sha2_password) and without (sha256_password).
  return { cachingRsaPublicKey: key, rsaPublicKey: key }
}

async function readPem(path: string): Promise<Buffer> {
  try {
    return await readFile(path)
  } catch (cause) {
    throw new UsageError('STORE_URL_INVALID', `the file ${path} of the store URL cannot be read.`, {
      value: path,
      cause,
    })
  }
}
