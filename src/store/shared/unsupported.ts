/** The coded refusal of verbs that an engine does not offer. */
import { UsageError } from '../../core/errors.ts'
import type { Feature } from '../contract/store.ts'

const WHAT: Readonly<Record<Feature, string>> = {
  owners: 'leases with owners',
  workers: 'list of workers',
  forecast: 'forecast',
  figures: 'figures per minute',
  backup: 'backup of its own',
}

export function unsupported(engine: string, feature: Feature, remedy: string): Promise<never> {
  return Promise.reject(
    new UsageError('UNSUPPORTED', `the ${engine} engine has no ${WHAT[feature]}; ${remedy}.`, {
      value: feature,
    }),
  )
}

/** For an engine that offers none of the features yet. */
export abstract class FeaturelessStore {
  protected abstract readonly engine: string

  owned(): Promise<never> {
    return this.#refuse('owners')
  }

  leave(): Promise<never> {
    return this.#refuse('workers')
  }

  workers(): Promise<never> {
    return this.#refuse('workers')
  }

  record(): Promise<never> {
    return this.#refuse('figures')
  }

  figures(): Promise<never> {
    return this.#refuse('figures')
  }

  forecast(): Promise<never> {
    return this.#refuse('forecast')
  }

  backup(_directory: string): Promise<void> {
    return this.#refuse('backup')
  }

  #refuse(feature: Feature): Promise<never> {
    return unsupported(this.engine, feature, 'use another engine')
  }
}
