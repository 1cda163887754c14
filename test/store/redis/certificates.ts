/** Certificates for tests of TLS, made by openssl: an authority, and one for localhost that it signed. */
import { execFile } from 'node:child_process'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** The directory has ca.pem, server.pem and server.key. */
export async function makeCertificates(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'punctual-tls-'))
  const make = (name: string, subject: string, more: readonly string[]): Promise<unknown> => {
    const words = `req -x509 -newkey rsa:2048 -nodes -days 2 -keyout ${name}.key -out ${name}.pem`.split(' ')
    return promisify(execFile)('openssl', [...words, '-subj', subject, ...more], { cwd: directory })
  }
  await make('ca', '/CN=punctual test authority', [])
  const names = ['-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1']
  await make('server', '/CN=localhost', [...names, '-CA', 'ca.pem', '-CAkey', 'ca.key'])
  return directory
}

/** A redis-server that speaks TLS on this port, as words of its command line. */
export function tlsConfig(directory: string, port: number): string[] {
  const file = (name: string): string => join(directory, name)
  const files = ['--tls-cert-file', file('server.pem'), '--tls-key-file', file('server.key')]
  return ['--tls-port', String(port), ...files, '--tls-ca-cert-file', file('ca.pem')]
}
