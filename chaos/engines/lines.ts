/** The lines between processes and a server: a proxy for each place, which can be cut, or fall silent for a while. */
import { Proxy } from '../../test/store/redis/proxy.ts'
import { sleep } from '../waiting.ts'
import type { Strike } from './engine.ts'

/** By weight. */
export const LINE_FAULTS = { cut: 4, 'half-open': 4, 'cut all': 1, 'half-open all': 1 } as const
type LineFault = keyof typeof LINE_FAULTS

export function isLineFault(kind: string): kind is LineFault {
  return Object.hasOwn(LINE_FAULTS, kind)
}

export class Lines {
  readonly #proxies = new Map<string, Proxy>()

  /** The server's URL as this place sees it; '' is the line that is never cut. */
  async urlFor(place: string, server: { readonly url: string; readonly port: number }): Promise<string> {
    if (place === '') return server.url
    const proxy = this.#proxies.get(place) ?? (await Proxy.before(server.port))
    this.#proxies.set(place, proxy)
    return server.url.replace(`:${server.port}`, `:${new URL(proxy.url).port}`)
  }

  async inflict(kind: LineFault, { lastsMs, places, pick, begins }: Strike): Promise<void> {
    const isForAll = kind === 'cut all' || kind === 'half-open all'
    const place = places[Math.floor(pick * places.length)] ?? ''
    const hit = isForAll
      ? [...this.#proxies.values()]
      : [this.#proxies.get(place)].filter((proxy) => proxy !== undefined)
    begins(isForAll ? 'server' : place, isForAll)
    if (kind === 'cut' || kind === 'cut all') return hit.forEach((proxy) => proxy.cut())
    for (const proxy of hit) proxy.fallSilent()
    await sleep(lastsMs)
    for (const proxy of hit) proxy.speakAgain()
  }

  heal(): void {
    for (const proxy of this.#proxies.values()) proxy.speakAgain()
  }

  async close(): Promise<void> {
    for (const proxy of this.#proxies.values()) await proxy.close()
  }
}
