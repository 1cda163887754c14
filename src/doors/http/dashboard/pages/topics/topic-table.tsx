/** Topics with their counts, what ended lately, and what holds them back. */
import type { ComponentChildren, JSX } from 'preact'
import { controlText } from '../../actions/controls.tsx'
import { Name } from '../../parts/name.tsx'
import { linkTo } from '../../state/address.ts'
import { now } from '../../state/clock.ts'
import { stats, topics } from '../../state/live.ts'
import { ago, count, distance } from '../../time/words.ts'

export type TopicTableProps = {
  readonly names: readonly string[]
  readonly actions?: (topic: string) => ComponentChildren
}

export function TopicTable({ names, actions }: TopicTableProps): JSX.Element {
  if (names.length === 0)
    return <p class="soft">No topic has messages. A topic appears with its first message.</p>
  const byTopic = new Map((stats.value?.controls ?? []).map((control) => [control.topic, control]))
  return (
    <div class="table-box" tabIndex={0} role="region" aria-label="Topics">
      <table class="cards">
        <thead>
          <tr>
            <th scope="col">Topic</th>
            <th scope="col" class="number">
              Waiting
            </th>
            <th scope="col" class="number">
              Running
            </th>
            <th scope="col" class="number">
              Dead
            </th>
            <th scope="col" class="number">
              Done/min
            </th>
            <th scope="col">Next due</th>
            <th scope="col">Held back</th>
            {actions !== undefined && (
              <th scope="col">
                <span class="unseen">Actions</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {names.map((name) => {
            const control = byTopic.get(name)
            return <Row key={name} name={name} held={control && controlText(control)} actions={actions} />
          })}
        </tbody>
      </table>
    </div>
  )
}

type RowProps = {
  readonly name: string
  readonly held: string | undefined
  readonly actions: ((topic: string) => ComponentChildren) | undefined
}

function nextDueText(at: number | undefined, isOverdue: boolean): string {
  if (at === undefined) return '–'
  return isOverdue ? `overdue by ${ago(at, now.value)}` : distance(Math.max(at, now.value), now.value)
}

/** A card leaves out what is not there. */
function nothing(value: unknown): string {
  return value === undefined ? 'is-nothing' : ''
}

function Row({ name, held, actions }: RowProps): JSX.Element {
  const counts = topics.value?.topics[name]
  const recent = stats.value?.recent
  const minutes = recent === undefined ? 1 : Math.max(1, (now.value - recent.since) / 60_000)
  const done = (recent?.topics[name]?.completed ?? 0) / minutes
  const isOverdue = topics.value?.overdue.some(({ topic }) => topic === name) ?? false
  return (
    <tr>
      <th scope="row">
        <a href={linkTo('messages', { state: 'delayed', topic: name })}>
          <Name text={name} />
        </a>
      </th>
      <td class="number" data-name="Waiting">
        {count(counts?.waiting ?? 0)}
      </td>
      <td class="number" data-name="Running">
        {count(counts?.running ?? 0)}
      </td>
      <td class={(counts?.dead ?? 0) > 0 ? 'number is-bad' : 'number'} data-name="Dead">
        {count(counts?.dead ?? 0)}
      </td>
      <td class="number" data-name="Done/min">
        {done < 10 ? Math.round(done * 10) / 10 : count(Math.round(done))}
      </td>
      <td class={`when-cell wide ${isOverdue ? 'is-late' : nothing(counts?.nextDueAt)}`} data-name="Next due">
        {nextDueText(counts?.nextDueAt, isOverdue)}
      </td>
      <td class={`wide ${nothing(held)}`} data-name="Held back">
        {held ?? '–'}
      </td>
      {actions !== undefined && <td class="row-actions">{actions(name)}</td>}
    </tr>
  )
}
