/** A store on MySQL or MariaDB from a URL. Nothing is connected before `open()`. */
import { admitting } from '../shared/admission.ts'
import type { Store } from '../contract/store.ts'
import type { StoreContext } from '../engine.ts'
import { parseMysqlUrl, type MysqlSettings } from './address/url.ts'
import { readTimeouts } from '../shared/url-options.ts'
import { MysqlStore } from './store.ts'

/** Settings given here win over those in the URL. */
export function openMysqlStore(url: string, context: StoreContext, given: MysqlSettings = {}): Store {
  const { address, server, settings } = parseMysqlUrl(url)
  const all = { ...settings, ...given }
  return admitting(
    new MysqlStore(context, {
      address,
      server,
      mayMigrate: all.migrate ?? true,
      isDeaf: all.isDeaf ?? false,
      ...readTimeouts(all),
      ...(all.now === undefined ? {} : { now: all.now }),
    }),
  )
}
