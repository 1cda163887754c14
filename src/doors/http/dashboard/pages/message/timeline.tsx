/** From produced to what comes next, as a line: what was, what is, what will be. */
import type { JSX } from 'preact'
import { now } from '../../state/clock.ts'
import { zone } from '../../state/preferences.ts'
import type { ShownDetail } from '../../state/wire.ts'
import { distance, firstLine, moment, span } from '../../time/words.ts'

type Station = {
  readonly title: string
  readonly at?: number
  readonly about?: string
  readonly kind: 'past' | 'present' | 'future' | 'bad'
}

export function Timeline({ message }: { readonly message: ShownDetail }): JSX.Element {
  return (
    <ol class="timeline">
      {stationsOf(message, now.value).map(({ title, at, about, kind }) => (
        <li key={title} class={`is-${kind}`}>
          <strong>{title}</strong>
          {at !== undefined && (
            <time dateTime={new Date(at).toISOString()}>
              {moment(at, zone.value)}
              <span class="soft">{distance(at, now.value)}</span>
            </time>
          )}
          {about !== undefined && <span class="soft">{about}</span>}
        </li>
      ))}
    </ol>
  )
}

function stationsOf(message: ShownDetail, at: number): Station[] {
  const { producedAt, firstDueAt, dueAt, attempt, error, lapses, state, runningSince, diedAt, outcome } =
    message
  const stations: Station[] = []
  if (producedAt !== undefined) {
    stations.push({
      title: 'Produced',
      at: producedAt,
      ...(firstDueAt > producedAt ? { about: `due ${span(firstDueAt - producedAt)} later` } : {}),
      kind: 'past',
    })
  }
  if (firstDueAt !== dueAt)
    stations.push({ title: 'First due', at: firstDueAt, kind: firstDueAt <= at ? 'past' : 'future' })
  const failed = state === 'running' ? attempt - 1 : attempt
  if (failed > 0 && state !== 'completed') {
    stations.push({
      title: `Attempt ${failed} ${lapses > 0 ? 'gave no answer' : 'failed'}`,
      ...(error === undefined ? {} : { about: firstLine(error, 90) }),
      kind: 'bad',
    })
  }
  switch (state) {
    case 'delayed':
      stations.push({ title: attempt > 0 ? `Attempt ${attempt + 1} due` : 'Due', at: dueAt, kind: 'future' })
      break
    case 'ready':
      stations.push({ title: 'Due', at: dueAt, about: 'waits for a worker', kind: 'present' })
      break
    case 'running':
      stations.push({ title: 'Due', at: dueAt, kind: 'past' })
      stations.push({
        title: `Attempt ${attempt} runs`,
        ...(runningSince === undefined ? {} : { at: runningSince }),
        ...(runningSince === undefined
          ? {}
          : { about: `started ${span(Math.max(0, runningSince - dueAt))} late` }),
        kind: 'present',
      })
      break
    case 'dead':
      stations.push({
        title: 'Dead',
        ...(diedAt === undefined ? {} : { at: diedAt }),
        about: message.reason ?? '',
        kind: 'bad',
      })
      break
    default:
      stations.push({ title: outcome === 'skipped' ? 'Skipped' : 'Completed', kind: 'past' })
  }
  if (message.successor !== undefined) {
    stations.push({
      title: 'Successor due',
      at: message.successor.dueAt,
      about: 'takes its place when it ends',
      kind: 'future',
    })
  }
  return stations
}
