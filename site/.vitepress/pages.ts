/**
 * Every page of the site, by its path below docs/, in the order in which it is shown. A new page is one line here; a test
 * fails when a page of docs/ is missing, or a line leads nowhere.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

export type Group = {
  readonly title: string
  /** Path below docs/ and title in the list; whole when it begins with `../`. */
  readonly pages: Readonly<Record<string, string>>
  /** Shown folded: for people who work on punctual itself. */
  readonly isFolded?: boolean
}

const DOCS = resolve(import.meta.dirname, '../../docs')

export const GROUPS: readonly Group[] = [
  {
    title: 'Start',
    pages: {
      'getting-started.md': 'Getting started',
      'installation.md': 'Installation',
      'choosing-an-engine.md': 'Choosing an engine',
      'how-it-works.md': 'The way of a message',
      'troubleshooting.md': 'Troubleshooting',
      'glossary.md': 'Glossary',
    },
  },
  {
    title: 'Guides',
    pages: {
      'guides/delays.md': 'Delays and moments',
      'guides/retries.md': 'Retries and dead letters',
      'guides/cancel-and-reschedule.md': 'Cancel and reschedule',
      'guides/idempotency.md': 'Idempotency',
      'guides/schedules.md': 'Schedules',
      'guides/local-time.md': 'At nine, not at night',
      'guides/follow-ups.md': 'Follow-ups',
      'guides/tags.md': 'Tags and filters',
      'guides/priorities.md': 'Priorities',
      'guides/debounce-and-throttle.md': 'Debounce and throttle',
      'guides/limits-and-pauses.md': 'Limits and pauses',
      'guides/tenants.md': 'Many customers',
      'guides/one-at-a-time.md': 'One at a time',
      'guides/transactions.md': 'Your own transaction',
      'guides/testing-time.md': 'Testing time',
      'guides/web-frameworks.md': 'Express, Fastify, Hono, Next',
      'guides/nestjs.md': 'NestJS',
      'guides/surroundings.md': 'Surroundings',
    },
  },
  {
    title: 'Recipes',
    pages: {
      'recipes/README.md': 'All recipes',
      'recipes/saga-timeout.md': 'A saga that gives up in time',
      'recipes/reminders.md': 'Reminders',
      'recipes/webhook-retries.md': 'Webhooks that arrive',
      'recipes/rate-limited-api.md': 'A rate-limited API',
      'recipes/gdpr-deletion.md': 'Erase a person',
    },
  },
  {
    title: 'Running it',
    pages: {
      'guides/deployment.md': 'Deployment',
      'guides/production.md': 'Production checklist',
      'guides/operating.md': 'Operating',
      'guides/agents.md': 'Agents',
      'guides/monitoring.md': 'Monitoring and alerts',
      'guides/tracing.md': 'Tracing',
      'guides/stopping.md': 'Stopping',
      'dashboard.md': 'The dashboard',
      'security.md': 'Security',
      'guides/moving.md': 'Moving to another store',
      'guides/migrating-from-bullmq.md': 'Coming from BullMQ',
      'guides/migrating-from-bee-queue.md': 'Coming from bee-queue',
      'guides/migrating-from-pg-boss.md': 'Coming from pg-boss',
      'guides/migrating-from-graphile-worker.md': 'Coming from Graphile Worker',
      'guides/migrating-from-agenda.md': 'Coming from Agenda',
      'guides/migrating-from-node-cron.md': 'Coming from node-cron',
      'upgrading.md': 'Upgrading',
    },
  },
  {
    title: 'Engines and doors',
    pages: {
      'file.md': 'Files',
      'redis.md': 'Redis',
      'postgres.md': 'PostgreSQL',
      'mysql.md': 'MySQL and MariaDB',
      'compatibility.md': 'Servers',
      'rabbitmq.md': 'The bridge to RabbitMQ',
      'http.md': 'The HTTP server',
    },
  },
  {
    title: 'Reference',
    pages: {
      'api.md': 'API',
      'api-types.md': 'Types',
      'cli.md': 'Command line',
      'errors.md': 'Errors',
      'states.md': 'The life of a message',
      'guarantees.md': 'Guarantees',
      'reliability.md': 'Reliability',
      'performance.md': 'Performance',
    },
  },
  {
    title: 'For authors of engines',
    isFolded: true,
    pages: {
      'writing-an-engine.md': 'Write an engine',
      'api-engines.md': 'The contract of engines',
    },
  },
  {
    title: 'Inside',
    isFolded: true,
    pages: {
      'architecture.md': 'The house',
      'internals.md': 'A walk through the files',
      '../CONTRIBUTING.md': 'Contributing',
      '../CHANGELOG.md': 'Changelog',
    },
  },
  { title: 'Decisions', isFolded: true, pages: decisions() },
]

/** The records list themselves, under their headings. */
function decisions(): Record<string, string> {
  const files = readdirSync(join(DOCS, 'decisions')).filter((file) => file.endsWith('.md'))
  const titled = files
    .toSorted()
    .map((file) => [`decisions/${file}`, headingOf(join(DOCS, 'decisions', file))])
  return Object.fromEntries(titled)
}

function headingOf(file: string): string {
  return /^# (.+)$/m.exec(readFileSync(file, 'utf8'))?.[1]?.replaceAll('`', '') ?? file
}
