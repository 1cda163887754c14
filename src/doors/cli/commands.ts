/** The table of commands, in the order of the help. Each is loaded when it is called. */
import type { Command } from './command.ts'

export const COMMANDS = {
  demo: async () => (await import('./commands/demo.ts')).demo,
  produce: async () => (await import('./commands/produce.ts')).produce,
  schedule: async () => (await import('./commands/schedule.ts')).schedule,
  work: async () => (await import('./commands/work.ts')).work,
  bridge: async () => (await import('./commands/bridge.ts')).bridge,
  serve: async () => (await import('./commands/serve.ts')).serve,
  mcp: async () => (await import('./commands/mcp.ts')).mcp,
  token: async () => (await import('./commands/token.ts')).token,
  queues: async () => (await import('./commands/queues.ts')).queues,
  stats: async () => (await import('./commands/stats.ts')).stats,
  list: async () => (await import('./commands/list.ts')).list,
  get: async () => (await import('./commands/get.ts')).get,
  why: async () => (await import('./commands/why.ts')).why,
  keys: async () => (await import('./commands/keys.ts')).keys,
  workers: async () => (await import('./commands/workers.ts')).workers,
  cancel: async () => (await import('./commands/cancel.ts')).cancel,
  reschedule: async () => (await import('./commands/reschedule.ts')).reschedule,
  pause: async () => (await import('./commands/pause.ts')).pause,
  resume: async () => (await import('./commands/resume.ts')).resume,
  limit: async () => (await import('./commands/limit.ts')).limit,
  dead: async () => (await import('./commands/dead.ts')).dead,
  revive: async () => (await import('./commands/revive.ts')).revive,
  purge: async () => (await import('./commands/purge.ts')).purge,
  upcoming: async () => (await import('./commands/upcoming.ts')).upcoming,
  doctor: async () => (await import('./commands/doctor.ts')).doctor,
  migrate: async () => (await import('./commands/migrate.ts')).migrate,
  backup: async () => (await import('./commands/backup.ts')).backup,
  import: async () => (await import('./commands/import.ts')).importCommand,
  move: async () => (await import('./commands/move.ts')).move,
  completion: async () => (await import('./commands/completion.ts')).completion,
} as const satisfies Readonly<Record<string, () => Promise<Command>>>

export type CommandName = keyof typeof COMMANDS

export function isCommandName(name: string): name is CommandName {
  return Object.hasOwn(COMMANDS, name)
}
