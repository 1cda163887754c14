/** What the server answers, by its route table. */
import type { DueBar, EndedTotals, FoundControl, LatenessPercentiles, Stats } from '../../../../index.ts'

export type Viewer = {
  readonly name: string
  readonly scopes: readonly string[]
  readonly isOpen: boolean
  readonly queues?: readonly string[]
  readonly topicPrefix?: string
}

export type Trouble = {
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly code: string
}

export type LiveStats = Pick<
  Stats,
  'counts' | 'nextDueAt' | 'recent' | 'latenessMs' | 'controls' | 'missing'
> & {
  readonly now: number
}

export type LiveTopics = Pick<Stats, 'topics' | 'moreTopics' | 'overdue'> & { readonly now: number }

export type ShownMessage = {
  readonly id: string
  readonly topic: string
  readonly state: 'delayed' | 'ready' | 'running' | 'dead' | 'completed'
  readonly priority: 'high' | 'normal' | 'low'
  readonly tags?: readonly string[]
  readonly key?: string
  readonly dueAt: number
  readonly firstDueAt: number
  readonly producedAt?: number
  readonly attempt: number
  readonly lapses: number
  readonly ttlMs?: number
  readonly error?: string
  readonly leaseEndsAt?: number
  readonly owner?: string
  readonly runningSince?: number
  readonly isCancelling?: true
  readonly successor?: { readonly topic: string; readonly payload?: unknown; readonly dueAt: number }
  readonly reason?: string
  readonly diedAt?: number
  readonly outcome?: 'completed' | 'skipped'
  readonly result?: unknown
  readonly rememberedUntil?: number
  readonly payloadBytes: number
  readonly preview?: string
}

export type ShownDetail = ShownMessage & {
  readonly payloadText: string
  readonly policy?: Readonly<Record<string, unknown>>
}

export type ShownPage = {
  readonly items: readonly ShownMessage[]
  readonly cursor?: string
  readonly looked: number
}

export type ShownGroup = {
  readonly key: string
  readonly topic: string
  readonly reason: string
  readonly error: string
  readonly count: number
  readonly firstDiedAt: number
  readonly lastDiedAt: number
  readonly sample: readonly string[]
}

export type DeadAnswer = {
  readonly groups: readonly ShownGroup[]
  readonly looked: number
  readonly isComplete: boolean
  readonly cursor?: string
}

export type ManyFilter = Readonly<Record<string, string | number | readonly string[] | undefined>>

export type ManyPreview = {
  readonly matches: number
  readonly isAtLeast: boolean
  readonly sample: readonly ShownMessage[]
  readonly confirm: string
  readonly expiresAt: number
}

export type ManyJob = {
  readonly id: string
  readonly action: string
  readonly who: string
  readonly state: 'running' | 'done' | 'stopped' | 'capped' | 'failed'
  readonly confirmed: number
  readonly isAtLeast: boolean
  readonly done: number
  readonly running?: number
  readonly startedAt: number
  readonly endedAt?: number
  readonly error?: string
}

export type ForecastAnswer = {
  readonly now: number
  readonly bars: readonly DueBar[]
  readonly before: number
  readonly after: number
  readonly isExact: boolean
}

export type PastRow = EndedTotals & {
  readonly at: number
  readonly lateness: readonly number[]
  readonly latenessMs?: LatenessPercentiles
}

export type PastAnswer = {
  readonly from: number
  readonly until: number
  readonly stepMs: number
  readonly latenessEdgesMs: readonly number[]
  readonly rows: readonly PastRow[]
}

export type ShownFinding = {
  readonly level: 'problem' | 'warning' | 'fine'
  readonly what: string
  readonly remedy?: string
}

/** As a schedule is set; there may be more in it than the dashboard shows. */
export type ScheduleSpecShown = {
  readonly topic: string
  readonly payload?: unknown
  readonly cron?: string
  readonly zone?: string
  readonly days?: string
  readonly except?: string | readonly string[]
  readonly every?: number | string
  readonly overlap?: 'allow' | 'skip'
}

export type ScheduleDetail = {
  readonly next: readonly number[]
  readonly spec: ScheduleSpecShown
  readonly last?: {
    readonly at: number
    readonly id: string
    readonly state: 'delayed' | 'ready' | 'running' | 'dead' | 'completed' | 'gone'
    readonly error?: string
  }
}

export type AuditLine = {
  readonly at: number
  readonly who: string
  readonly action: string
  readonly about: string
  readonly result: string
  readonly count?: number
}

export type ServerFacts = {
  readonly version: string
  readonly startedAt: number
  readonly storeName: string
  readonly zone?: string
}

export type Controlled = { readonly controls: readonly FoundControl[] }
