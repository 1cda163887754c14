export function writeBullmq(
  version: 5 | 6,
  url: string,
  name: string,
): Promise<{ readonly laterAt: number; readonly tickAt: number; readonly failedAt: number }>
export function writeManyBullmq(version: 5 | 6, url: string, name: string, count: number): Promise<void>
export function writeOddNames(version: 5 | 6, url: string, name: string): Promise<void>
type ManyRunning = {
  readonly ids: readonly string[]
  readonly completed: () => Promise<number>
  readonly stop: () => Promise<readonly string[]>
}
type ManyJobs = { readonly count: number; readonly overMs: number }
export function runManyBullmq(version: 5 | 6, url: string, name: string, jobs: ManyJobs): Promise<ManyRunning>
export function runManyBee(url: string, name: string, jobs: ManyJobs): Promise<ManyRunning>
export function writeDue(
  version: 5 | 6,
  url: string,
  name: string,
): Promise<{
  readonly nextAt: number
  readonly queue: {
    readonly workPaused: () => Promise<{ readonly close: () => Promise<void> }>
    readonly waiting: () => Promise<readonly string[]>
    readonly close: () => Promise<void>
  }
}>
export function writeBee(url: string, name: string): Promise<{ readonly laterAt: number }>
type PgBossJob =
  'retry' | 'dead' | 'failed' | 'active' | 'done' | 'now' | 'later' | 'low' | 'empty' | 'single'
export function writePgBoss(version: 10 | 12, url: string): Promise<Readonly<Record<PgBossJob, string>>>
export function sendPgBoss(
  version: 10 | 12,
  url: string,
  signal: AbortSignal,
  options?: { readonly delayS?: number },
): Promise<readonly string[]>
export function workPgBoss(version: 10 | 12, url: string, signal: AbortSignal): Promise<readonly string[]>
export function writeManyPgBoss(version: 10 | 12, url: string, count: number): Promise<void>
export function writeGraphile(url: string): Promise<{
  readonly now: string
  readonly later: string
  readonly laterAt: number
  readonly failed: string
}>
