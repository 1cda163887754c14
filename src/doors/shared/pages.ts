/** Lists page by page: read, walked, and as the document that a program gets. */
import type { FoundMessage, ListOptions, MessagePage, Punctual } from '../../index.ts'

const PAGE_SIZE = 1_000

/** One page that is as full as it can be: an engine may hand out short ones while there is more. */
export async function readPage(
  queue: Punctual,
  options: ListOptions & { limit: number },
): Promise<MessagePage> {
  const items: FoundMessage[] = []
  let { cursor } = options
  do {
    const rest = { ...options, limit: options.limit - items.length }
    const page: MessagePage = await queue.list(cursor === undefined ? rest : { ...rest, cursor })
    items.push(...page.items)
    cursor = page.cursor
  } while (cursor !== undefined && items.length < options.limit)
  return cursor === undefined ? { items } : { items, cursor }
}

/** All pages, until there are no more or `signal` aborts. */
export async function* allPages(
  queue: Punctual,
  options: ListOptions,
  signal: AbortSignal,
): AsyncGenerator<readonly FoundMessage[]> {
  let { cursor } = options
  do {
    const page: MessagePage = await queue.list({
      limit: PAGE_SIZE,
      ...options,
      ...(cursor === undefined ? {} : { cursor }),
    })
    if (page.items.length > 0) yield page.items
    cursor = page.cursor
  } while (cursor !== undefined && !signal.aborted)
}

/** One page as one JSON document. */
export function pageDocument(items: readonly FoundMessage[], cursor: string | undefined): MessagePage {
  return { items, ...(cursor === undefined ? {} : { cursor }) }
}
