export { Punctual } from './queue/punctual.ts'
export type { PunctualOptions, QueueOptions } from './queue/settings.ts'
export type { CancelCounts, CancelResult, RescheduleCounts } from './queue/changing/filtering.ts'
export type { FoundMessage, FoundSuccessor, MessagePage } from './queue/looking/inspection.ts'
export type { EndedTotals, RecentFigures, Stats } from './queue/looking/stats.ts'
export type { OverdueTopic } from './queue/looking/overdue.ts'
export type { DueBar, DueForecast } from './queue/looking/forecast.ts'
export type { FoundAllowance, FoundControl, FoundLimit } from './queue/changing/controls.ts'
export type { FoundSchedule, SchedulePage } from './queue/schedules/found-schedule.ts'
export type { Schedules, SetResult } from './queue/schedules/schedules.ts'
export type { FoundWorker, FoundWorkers } from './queue/looking/workers.ts'
export type { Metrics } from './queue/looking/metrics.ts'
export type {
  KeyHolder,
  TopicHandlers,
  Why,
  WhyAbout,
  WhyBy,
  WhyExpired,
  WhyKey,
  WhyOutside,
  WhyPaused,
} from './queue/looking/why.ts'
export type { FoundKey, KeyPage } from './queue/looking/keys.ts'
export type { AnyTopics, NoSchemas, ProduceEntry } from './queue/topics.ts'
export type { InTransaction, TransactionOption } from './queue/changing/transactions.ts'

export { PunctualError, UsageError, UnavailableError, InvariantError, ERROR_CODES } from './core/errors.ts'
export type { ErrorCode } from './core/errors.ts'
export { RetryIn, DeadLetter, Snooze } from './core/machines/outcome.ts'
export type { IfExpired } from './core/machines/outcome.ts'
export type { Calendars, Except } from './core/windows/days.ts'
export type { LocalTime, SaidWhen, Workdays } from './core/windows/local.ts'
export type { TimeWindow, Within } from './core/windows/windows.ts'
export type { Duration, Moment } from './core/input/duration.ts'
export type { MessageState, Priority, RememberedOutcome, ShownState } from './core/message.ts'
export type { PayloadField, PayloadIsNotData, Received, Sendable } from './core/input/payload.ts'
export type { HandleOptions, RetryOptions } from './core/input/handle-options.ts'
export type {
  Ahead,
  ForecastOptions,
  KeysOptions,
  ListOptions,
  StatsOptions,
} from './core/input/questions.ts'
export type { CancelOptions, Filter, FilterOptions, FilterProgress } from './core/input/filter.ts'
export type {
  KeyAllowance,
  KeyLimitOptions,
  LimitOptions,
  PauseOptions,
  Rate,
  ResumeOptions,
} from './core/input/limits.ts'
export type {
  IfExists,
  FollowUpOptions,
  MessageOptions,
  ProduceOptions,
  RescheduleOptions,
  When,
} from './core/input/request.ts'
export type { Cadence, CatchUp, Overlap, SchedulePlan, ScheduleSpec } from './core/recurrence/spec.ts'
export type { TransactionHandle } from './core/input/transaction.ts'
export type { StandardSchema } from './core/input/schema.ts'
export type { LatenessPercentiles } from './core/metrics/lateness.ts'
export type { MetricFamily, MetricLabels, MetricSample } from './core/metrics/families.ts'
export type { MetricKind, MetricName } from './core/metrics/catalogue.ts'
export type { Logger } from './core/log.ts'
export type { WorkerFacts } from './core/owner.ts'

export type { Handler, Handlers, Message } from './runtime/handler.ts'
export type { EventName, Listener, QueueEvents } from './runtime/telling/events.ts'
export type { StopReport } from './runtime/stopping.ts'

export type { Clock, Timer } from './clock.ts'
export type { Random } from './random.ts'
/** For engine authors; the suite that goes with it is in `punctual/testing`. */
export type * from './store/contract/store.ts'
export type { QueueList, StoreContext } from './store/engine.ts'
export type * from './store/engines.ts'
