/** Whether a store that was named on the command line can be what was meant. */
import { UnavailableError, withoutPasswords } from '../../core/errors.ts'
import { engineForUrl, exampleUrls } from '../../store/engines.ts'
import { CallError, FailedError } from '../shared/failure.ts'

export type StoreExpectation = {
  /** A store that is not there yet is made; else looking into it would make an empty one, and hide a misspelt name. */
  readonly mayMake: boolean
  /** The caller waits for a server that is not there yet. */
  readonly isPatient: boolean
  /** The option that names it. */
  readonly option: string
}

export async function checkStore(
  store: string,
  { mayMake, isPatient, option }: StoreExpectation,
): Promise<void> {
  const engine = engineForUrl(store)
  if (engine.reach === 'process') {
    throw new CallError(
      `a ${engine.name} store would end with this command; use one like ${exampleUrls().join(' or ')}.`,
    )
  }
  if (!isPatient) await checkServer(store, option)
  if (mayMake || (await engine.exists(store))) return
  const absence = await engine.absence?.(store)
  throw new FailedError(
    absence === undefined
      ? `there is no store at ${withoutPasswords(store)}; name one with ${option}.`
      : `${absence}. Name another with ${option}.`,
  )
}

async function checkServer(store: string, option: string): Promise<void> {
  try {
    await engineForUrl(store).probe(store)
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error
    throw new UnavailableError(error.code, `${error.message} Name another with ${option}.`, { cause: error })
  }
}
