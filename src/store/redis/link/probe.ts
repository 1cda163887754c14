/**
 * Whether anybody listens at an address, asked once. The link itself waits for a server that is away, as workers and
 * producers want it; a person who runs one command would rather hear at once that no server is there.
 */
import { createConnection } from 'node:net'
import { UnavailableError } from '../../../core/errors.ts'
import { describeAddress, parseRedisUrl } from '../address/url.ts'

/** Certain at once; everything else may be slowness, for which the link has its patience. */
const CERTAIN: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ENOTFOUND'])

/** Resolves unless it is certain that no server answers. */
export async function probe(target: string): Promise<void> {
  const { address } = parseRedisUrl(target)
  const refusal = await refusalOf(address.host, address.port)
  if (refusal === undefined) return
  throw new UnavailableError(
    'STORE_UNAVAILABLE',
    `${describeAddress(address)} is not reachable (${refusal}). Does Redis run there?`,
  )
}

function refusalOf(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = createConnection({ host, port, timeout: 1_000 })
    const end = (refusal?: string): void => {
      socket.destroy()
      resolve(refusal)
    }
    socket.once('connect', () => end())
    socket.once('timeout', () => end())
    socket.once('error', (error: NodeJS.ErrnoException) =>
      end(CERTAIN.has(error.code ?? '') ? error.code : undefined),
    )
  })
}
