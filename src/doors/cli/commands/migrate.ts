import { engineForUrl } from '../../../store/engines.ts'
import { systemClock } from '../../../clock.ts'
import { systemRandom } from '../../../random.ts'
import { defineCommand } from '../command.ts'
import { EXIT, FailedError } from '../../shared/failure.ts'

export const migrate = defineCommand({
  name: 'migrate',
  summary: 'bring what the store keeps to the form that this version reads',
  operands: '',
  arity: [0, 0],
  options: {
    print: { type: 'boolean', help: 'show the statements instead, for someone who may run them' },
  },
  examples: [
    ['punctual migrate --store "$DATABASE_URL"', 'before a deploy, by the owner of the tables'],
    [
      'punctual migrate --store "$DATABASE_URL" --print > migration.sql',
      'for a database administrator, who runs: psql -v ON_ERROR_STOP=1 -f migration.sql',
    ],
  ],
  notes: [
    'Stores migrate by themselves when they are opened, unless their URL says migrate=false. Doing it twice is fine, and processes of the version before go on.',
  ],
  makesStore: true,
  isPatient: true,
  run: async ({ store, storeName, values, json, out, err }) => {
    const engine = engineForUrl(store)
    if (values.print === true) {
      if (engine.migrationText === undefined)
        throw new FailedError(`a ${engine.name} store has no statements to show; leave out --print.`)
      out.write(await engine.migrationText(store))
      return EXIT.fine
    }
    // Tables are made by migrating; every other store is made by its first message.
    if (engine.migrationText === undefined && !(await engine.exists(store)))
      throw new FailedError(
        `there is no store at ${storeName}, so there is nothing to migrate: the first message makes it. Name another with --store URL or PUNCTUAL_STORE.`,
      )
    const logger = { warn: (line: string) => err.line(line), error: (line: string) => err.line(line) }
    const done = await engine.migrate(store, { clock: systemClock, random: systemRandom, logger })
    if (json) out.json({ store: storeName, ...done })
    else out.line(doneText(storeName, done))
    return EXIT.fine
  },
})

type MigrateAnswer = Awaited<ReturnType<ReturnType<typeof engineForUrl>['migrate']>>

function doneText(storeName: string, done: MigrateAnswer): string {
  if (done === undefined) return `${storeName} is up to date`
  const { what, from, to } = done
  return from === 0
    ? `${storeName}: created ${what}, version ${to}`
    : `${storeName}: brought ${what} from version ${from} to ${to}`
}
