/** A PostgreSQL store from a URL. Nothing is connected before `open()`. */
import { admitting } from '../shared/admission.ts'
import type { Store } from '../contract/store.ts'
import type { StoreContext } from '../engine.ts'
import { parsePostgresUrl, type PostgresSettings } from './address/url.ts'
import { readTimeouts } from '../shared/url-options.ts'
import { PostgresStore } from './store.ts'

export const SCHEMA_DEFAULT = 'punctual'

/** Settings given here win over those in the URL. */
export function openPostgresStore(url: string, context: StoreContext, given: PostgresSettings = {}): Store {
  const { urls, server, settings } = parsePostgresUrl(url)
  const all = { ...settings, ...given }
  const isPooled = all.pooler === 'transaction'
  const listenUrls = all.listen === undefined ? (isPooled ? [] : urls) : parsePostgresUrl(all.listen).urls
  return admitting(
    new PostgresStore(context, {
      urls,
      listenUrls,
      server,
      allowed: all.allowed ?? [],
      schema: all.schema ?? SCHEMA_DEFAULT,
      isPooled,
      isReplicated: all.durability === 'replicated',
      mayMigrate: all.migrate ?? true,
      ...readTimeouts(all),
      ...(all.now === undefined ? {} : { now: all.now }),
    }),
  )
}
