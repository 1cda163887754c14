/**
 * Every metric by name: what kind it is, which labels it has, and whose figure it is.
 *
 *   punctual_queue_…    of the whole queue, as its store keeps it: every process that is asked tells the same
 *   punctual_process_…  of this process since it was started: add them up over all processes
 *   punctual_http_…     of this server
 *
 * Names follow OpenMetrics: units are base units and stand last, but for `_total` of a counter.
 */

export type MetricKind = 'counter' | 'gauge' | 'histogram'

export type MetricSpec = {
  readonly kind: MetricKind
  readonly labels: readonly string[]
  readonly help: string
}

/** So many topics have a label of their own in one metric. The others are added up in a sample without it. */
export const TOPIC_LABELS_MAX = 50

export const METRICS = {
  punctual_build_info: {
    kind: 'gauge',
    labels: ['version'],
    help: 'Always 1; the label says which version of punctual runs.',
  },
  punctual_queue_up: {
    kind: 'gauge',
    labels: ['queue'],
    help: 'Whether the store answered: 1 or 0. Without an answer no other punctual_queue_ metric is there.',
  },
  punctual_queue_messages: {
    kind: 'gauge',
    labels: ['queue', 'state'],
    help: 'Messages in the store by state: delayed, ready, running, dead.',
  },
  punctual_queue_topic_messages: {
    kind: 'gauge',
    labels: ['queue', 'topic', 'state'],
    help: 'Messages of the topics with most waiting by state: waiting, running, dead.',
  },
  punctual_queue_next_due_timestamp_seconds: {
    kind: 'gauge',
    labels: ['queue'],
    help: 'The earliest moment of a message that waits. Absent when none waits.',
  },
  punctual_queue_due_messages: {
    kind: 'gauge',
    labels: ['queue', 'within'],
    help: 'Messages that come due within 1m, 5m and 1h from now, with what schedules will bring.',
  },
  punctual_queue_overdue_messages: {
    kind: 'gauge',
    labels: ['queue'],
    help: 'Messages that wait although their moment was 10 seconds ago or earlier, paused ones included.',
  },
  punctual_queue_overdue_topics: {
    kind: 'gauge',
    labels: ['queue'],
    help: 'Topics with such a message, at most 100.',
  },
  punctual_queue_overdue_seconds: {
    kind: 'gauge',
    labels: ['queue'],
    help: 'How long ago the moment of the oldest overdue message was; 0 when none is overdue.',
  },
  punctual_queue_minute_ended_messages: {
    kind: 'gauge',
    labels: ['queue', 'topic', 'outcome'],
    help: 'What ended in the last whole minute in all processes by outcome: completed, failed, dead, skipped.',
  },
  punctual_queue_minute_lateness_seconds: {
    kind: 'gauge',
    labels: ['queue', 'quantile'],
    help: 'How late handlers started in the last whole minute in all processes; absent when none did.',
  },
  punctual_queue_workers: {
    kind: 'gauge',
    labels: ['queue', 'state'],
    help: 'Workers with handlers by state: alive, silent (not heard of for two minutes), gone (within the last hour).',
  },
  punctual_queue_paused: {
    kind: 'gauge',
    labels: ['queue'],
    help: 'Whether the whole queue is paused: 1 or 0.',
  },
  punctual_queue_paused_topics: {
    kind: 'gauge',
    labels: ['queue'],
    help: 'Topics that are paused, each for itself.',
  },
  punctual_queue_limited_topics: {
    kind: 'gauge',
    labels: ['queue'],
    help: 'Topics with a limit.',
  },
  punctual_queue_missing_partitions: {
    kind: 'gauge',
    labels: ['queue'],
    help: 'Partitions that did not answer: what they hold is in none of these figures.',
  },
  punctual_process_start_time_seconds: {
    kind: 'gauge',
    labels: ['queue'],
    help: 'When this process made its queue: the counters begin there.',
  },
  punctual_process_produced_messages_total: {
    kind: 'counter',
    labels: ['queue', 'topic'],
    help: 'Messages that this process stored, without follow-ups and occurrences of schedules.',
  },
  punctual_process_ended_messages_total: {
    kind: 'counter',
    labels: ['queue', 'topic', 'outcome'],
    help: 'Attempts that ended in this process by outcome: completed, failed, dead, skipped.',
  },
  punctual_process_start_lateness_seconds: {
    kind: 'histogram',
    labels: ['queue', 'topic'],
    help: 'How long after its moment a handler started.',
  },
  punctual_process_handler_duration_seconds: {
    kind: 'histogram',
    labels: ['queue', 'topic'],
    help: 'How long a handler took.',
  },
  punctual_process_events_total: {
    kind: 'counter',
    labels: ['queue', 'event'],
    help: 'Events of this process: late, lost, snoozed, postponed, cancelled, error.',
  },
  punctual_process_running_handlers: {
    kind: 'gauge',
    labels: ['queue'],
    help: 'Handlers that run now.',
  },
  punctual_process_handler_slots: {
    kind: 'gauge',
    labels: ['queue'],
    help: 'How many handlers may run at once: the option concurrency.',
  },
  punctual_process_leased_messages: {
    kind: 'gauge',
    labels: ['queue'],
    help: 'Messages that this process holds: those that run, those that wait for a slot or their moment, those being settled.',
  },
  punctual_process_store_call_duration_seconds: {
    kind: 'histogram',
    labels: ['queue', 'verb'],
    help: 'How long a call to the store took, answered or not.',
  },
  punctual_process_store_errors_total: {
    kind: 'counter',
    labels: ['queue', 'verb', 'code'],
    help: 'Calls to the store that failed by the code of their error.',
  },
  punctual_http_requests_total: {
    kind: 'counter',
    labels: ['status'],
    help: 'Requests that were answered by class of status: 2xx, 3xx, 4xx, 5xx.',
  },
  punctual_http_waiting_calls: {
    kind: 'gauge',
    labels: [],
    help: 'Lease calls of workers that wait for a message.',
  },
  punctual_http_listeners: {
    kind: 'gauge',
    labels: [],
    help: 'Listeners of live events.',
  },
} as const satisfies Readonly<Record<string, MetricSpec>>

export type MetricName = keyof typeof METRICS
