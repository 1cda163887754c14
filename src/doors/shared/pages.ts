/** Lists page by page: one page as full as it can be, or all of them. */
import type { FoundMessage, ListOptions, MessagePage, Punctual } from '../../index.ts'

const PAGE_SIZE = 1_000

/** One page looks at no more than this, a few seconds' worth on any engine: filters may match hardly anything. */
const SCAN_MAX = 100_000

/** One page that is as full as it can be: an engine may hand out short ones while there is more. */
export async function readPage(
  queue: Punctual,
  options: ListOptions & { limit: number },
): Promise<MessagePage> {
  const items: FoundMessage[] = []
  const missing = new Set<string>()
  let scanned = 0
  let { cursor } = options
  do {
    const rest = { ...options, limit: options.limit - items.length }
    const page: MessagePage = await queue.list(cursor === undefined ? rest : { ...rest, cursor })
    items.push(...page.items)
    for (const name of page.missing ?? []) missing.add(name)
    scanned += page.scanned
    cursor = page.cursor
  } while (cursor !== undefined && items.length < options.limit && scanned < SCAN_MAX)
  return {
    items,
    scanned,
    ...(cursor === undefined ? {} : { cursor }),
    ...(missing.size === 0 ? {} : { missing: [...missing] }),
  }
}

/** All pages, until there are no more or `signal` aborts. Some may be empty: filters cost work too. */
export async function* allPages(
  queue: Punctual,
  options: ListOptions,
  signal: AbortSignal,
): AsyncGenerator<MessagePage> {
  let { cursor } = options
  do {
    const page: MessagePage = await queue.list({
      limit: PAGE_SIZE,
      ...options,
      ...(cursor === undefined ? {} : { cursor }),
    })
    yield page
    cursor = page.cursor
  } while (cursor !== undefined && !signal.aborted)
}
