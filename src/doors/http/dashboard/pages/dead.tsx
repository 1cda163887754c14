/** Dead letters by what killed them: the same error a thousand times is one line, and is revived as one, at a rate. */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { ManyDialog, type ManyAction, type ManyWish } from '../actions/many.tsx'
import { Empty, TroubleLine } from '../parts/notice.tsx'
import { Name, plainName, Text } from '../parts/name.tsx'
import { PageHead } from '../parts/shell.tsx'
import { TopicInput } from '../parts/topic-input.tsx'
import { changeQuery, linkTo, place } from '../state/address.ts'
import { now } from '../state/clock.ts'
import { isReachable, stats } from '../state/live.ts'
import { mayOperate } from '../state/session.ts'
import type { ShownGroup } from '../state/wire.ts'
import { ago, count, plural } from '../time/words.ts'
import { useDeadGroups } from './dead-groups.ts'

export function DeadPage(): JSX.Element {
  const topic = place.value.query.get('topic') ?? undefined
  const { gathered, trouble, goOn } = useDeadGroups(topic, true)
  const [wish, setWish] = useState<ManyWish | undefined>(undefined)
  const total = stats.value?.counts.dead
  return (
    <>
      <PageHead title="Dead letters">
        <span class="soft">{total === undefined ? '' : count(total)}</span>
        <span class="space" />
        <TopicInput value={topic ?? ''} onChange={(name) => changeQuery({ topic: name }, 'replace')} />
      </PageHead>
      <TroubleLine trouble={trouble} />
      {gathered?.groups.length === 0 && gathered.cursor === undefined && (
        <Empty title="No dead letters.">
          <p>
            A message comes here when its last attempt failed, when it is too late to be useful, or when its
            handler throws <code>DeadLetter</code>. From here it can be revived.
          </p>
        </Empty>
      )}
      <ul class="dead-groups">
        {gathered?.groups.map((group) => (
          <Group key={group.key} group={group} onAct={(action) => setWish(wishOf(action, group))} />
        ))}
      </ul>
      {gathered?.cursor !== undefined && (
        <div class="progress-line" role="status">
          <span class="soft">
            {plural(
              gathered.groups.reduce((sum, group) => sum + group.count, 0),
              'dead letter',
            )}{' '}
            found among {count(gathered.looked)} messages
            {total === undefined ? '' : `, of ${count(total)}`}
          </span>
          <button onClick={goOn}>Go on looking</button>
        </div>
      )}
      {wish !== undefined && <ManyDialog wish={wish} onClose={() => setWish(undefined)} />}
    </>
  )
}

function wishOf(action: ManyAction, { key, topic, error, reason }: ShownGroup): ManyWish {
  const about = `Dead letters of ${plainName(topic)}: ${plainName(error === '' ? reason : error)}`
  return { action, filter: { state: 'dead', topic, group: key }, about }
}

type GroupProps = { readonly group: ShownGroup; readonly onAct: (action: ManyAction) => void }

function Group({ group, onAct }: GroupProps): JSX.Element {
  const { topic, reason, error, count: n, firstDiedAt, lastDiedAt, sample } = group
  return (
    <li>
      <span class="dead-count">{count(n)}</span>
      <div class="dead-what">
        <strong>
          <Text text={error === '' ? reason : error} />
        </strong>
        <p class="soft">
          <Text text={topic} />
          {error !== '' && ` · ${reason}`} · last {ago(lastDiedAt, now.value)} ago
          {firstDiedAt !== lastDiedAt && `, first ${ago(firstDiedAt, now.value)} ago`}
        </p>
        <p class="samples">
          {sample.map((id) => (
            <a key={id} class="id" href={linkTo('messages', {}, id)}>
              <Name text={id} />
            </a>
          ))}
          {n > sample.length && <span class="soft">and {plural(n - sample.length, 'other')}</span>}
        </p>
      </div>
      {mayOperate() && (
        <span class="actions">
          <button
            disabled={!isReachable.value}
            aria-label={`Revive: ${error}`}
            onClick={() => onAct('revive')}
          >
            Revive…
          </button>
          <button disabled={!isReachable.value} aria-label={`Purge: ${error}`} onClick={() => onAct('purge')}>
            Purge…
          </button>
        </span>
      )}
    </li>
  )
}
