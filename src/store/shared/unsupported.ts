/** The coded refusal of verbs that an engine does not offer. */
import { UsageError } from '../../core/errors.ts'
import type { Feature } from '../contract/store.ts'

export const FEATURE_WORDS: Readonly<Record<Feature, string>> = {
  controls: 'pauses and limits',
  limits: 'limits',
  backup: 'backup of its own',
  transactions: 'part in transactions of your own',
  keys: 'messages with a key',
}

export function unsupported(engine: string, feature: Feature, remedy: string): Promise<never> {
  return Promise.reject(
    new UsageError('UNSUPPORTED', `the ${engine} engine has no ${FEATURE_WORDS[feature]}; ${remedy}.`, {
      value: feature,
    }),
  )
}
