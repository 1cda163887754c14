/** One message: its way, why it has not started, what it carries, how it failed, and what can be done. */
import type { ComponentChildren, JSX } from 'preact'
import { deedsFor, OneActions } from '../../actions/one.tsx'
import { Copyable, CopyButton } from '../../parts/copy.tsx'
import { Answered, Empty } from '../../parts/notice.tsx'
import { Text } from '../../parts/name.tsx'
import { PageHead } from '../../parts/shell.tsx'
import { saidText, windowText } from '../../../../../core/windows/words.ts'
import type { SaidWhen, TimeWindow, Why } from '../../../../../index.ts'
import { changeQuery, go, linkTo, place } from '../../state/address.ts'
import { inQueue } from '../../state/api.ts'
import { asCurl } from '../../state/curl.ts'
import { useAnswer } from '../../state/ask.ts'
import { now } from '../../state/clock.ts'
import { zone } from '../../state/preferences.ts'
import type { ShownDetail } from '../../state/wire.ts'
import { bytes, distance, moment, span } from '../../time/words.ts'
import { checklistOf } from './checklist.ts'
import { indent } from './indent.ts'
import { Timeline } from './timeline.tsx'

export function MessagePage({ id }: { readonly id: string }): JSX.Element {
  const answer = useAnswer<ShownDetail>(inQueue('messages', id))
  const why = useAnswer<Why>(inQueue('messages', id, 'why'))
  if (answer.trouble?.status === 404 && answer.value === undefined) return <Gone id={id} />
  return (
    <Answered answer={answer}>
      {(message) => (
        <>
          <PageHead title={id}>
            <span class={`state state-${message.state}`}>
              {message.isCancelling ? 'cancelling' : message.state}
            </span>
          </PageHead>
          <p class="soft under-title">
            <a
              href={linkTo('messages', {
                state: message.state === 'completed' ? undefined : message.state,
                topic: message.topic,
              })}
            >
              <Text text={message.topic} />
            </a>
            {message.tags?.map((tag) => (
              <a class="tag-like" key={tag} href={linkTo('messages', { state: message.state, tag })}>
                <Text text={tag} />
              </a>
            ))}
            {message.key !== undefined && (
              <>
                {' · '}
                <a href={linkTo('messages', { state: 'all', topic: message.topic, key: message.key })}>
                  key <Text text={message.key} />
                </a>
              </>
            )}
          </p>
          <OneActions message={message} onGone={() => go(linkTo('messages', { topic: message.topic }))} />
          <Timeline message={message} />
          <div class="beside">
            <section class="panel" aria-label="Why not yet?">
              <h2>
                {message.state === 'completed' || message.state === 'dead'
                  ? 'What became of it'
                  : 'Why not yet?'}
              </h2>
              <Answered answer={why}>{(reason) => <Checklist why={reason} />}</Answered>
            </section>
            <Facts message={message} />
          </div>
          <Payload message={message} />
          {message.error !== undefined && (
            <section class="panel" aria-label="Last error">
              <h2>Last error</h2>
              <pre tabIndex={0}>
                <Text text={message.error} />
              </pre>
            </section>
          )}
          <Commands message={message} />
        </>
      )}
    </Answered>
  )
}

function Gone({ id }: { readonly id: string }): JSX.Element {
  return (
    <>
      <PageHead title={id} />
      <Empty title="There is no such message now.">
        <p>
          It was completed, cancelled or purged, or never produced here. A completed message is kept only when
          it was produced with <code>remember</code>.
        </p>
        <p>
          <a href={linkTo('messages')}>All messages</a>
        </p>
      </Empty>
    </>
  )
}

const MARKS = { yes: '✓', no: '✗', wait: '…', unknown: '?' } as const

function Checklist({ why }: { readonly why: Why }): JSX.Element {
  return (
    <ol class="checklist">
      {checklistOf(why, { now: now.value, zone: zone.value }).map(({ mark, text }) => (
        <li key={text} class={`check-${mark}`}>
          <span class="check-mark" aria-label={mark}>
            {MARKS[mark]}
          </span>
          <Text text={text} />
        </li>
      ))}
    </ol>
  )
}

function Facts({ message }: { readonly message: ShownDetail }): JSX.Element {
  const { priority, attempt, lapses, owner, leaseEndsAt, rememberedUntil, policy = {}, successor } = message
  return (
    <section class="panel" aria-label="Facts">
      <h2>Facts</h2>
      <dl class="facts">
        <Fact name="Priority">{priority}</Fact>
        <Fact name="Attempts so far">{lapses > 0 ? `${attempt}, ${lapses} without an answer` : attempt}</Fact>
        {owner !== undefined && <Fact name="Worker">{owner}</Fact>}
        {leaseEndsAt !== undefined && <Fact name="Lease ends">{distance(leaseEndsAt, now.value)}</Fact>}
        {rememberedUntil !== undefined && (
          <Fact name="Id taken until">{moment(rememberedUntil, zone.value)}</Fact>
        )}
        {successor !== undefined && <Fact name="Successor">due {moment(successor.dueAt, zone.value)}</Fact>}
        {Object.entries(policy).map(([name, value]) => (
          <Fact key={name} name={policyName(name)}>
            {policyValue(name, value)}
          </Fact>
        ))}
      </dl>
    </section>
  )
}

function Fact({
  name,
  children,
}: {
  readonly name: string
  readonly children: ComponentChildren
}): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

const POLICY_NAMES: Readonly<Record<string, string>> = {
  ttlMs: 'Useful for',
  ifExpired: 'If too late',
  timeoutMs: 'Timeout',
  retry: 'Retry',
  rememberMs: 'Id remembered for',
  within: 'Starts only',
  said: 'Asked for',
  movedFrom: 'Moved by its window from',
}

function policyName(name: string): string {
  return POLICY_NAMES[name] ?? name
}

function policyValue(name: string, value: unknown): string {
  if (typeof value === 'number' && name.endsWith('Ms')) return span(value)
  if (name === 'movedFrom') return moment(Number(value), zone.value)
  if (name === 'within') return (value as TimeWindow[]).map(windowText).join('; ')
  if (name === 'said') return saidText(value as SaidWhen)
  if (name === 'retry' && typeof value === 'object' && value !== null) return retryText(value)
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function retryText(retry: { readonly limit?: unknown; readonly waits?: unknown }): string {
  const { limit, waits } = retry
  const times = `${String(limit)} times`
  if (!Array.isArray(waits)) return `${times}, ${JSON.stringify(waits)}`
  return `${times}, after ${waits.map((ms) => span(Number(ms))).join(', ')}`
}

function Payload({ message }: { readonly message: ShownDetail }): JSX.Element {
  const isIndented = place.value.query.get('payload') === 'indented'
  const { payloadText, payloadBytes } = message
  return (
    <section class="panel" aria-label="Payload">
      <div class="panel-head">
        <h2>Payload</h2>
        <span class="soft">{payloadBytes === 0 ? 'none' : bytes(payloadBytes)}</span>
        <button
          class="quiet"
          aria-pressed={isIndented}
          onClick={() => changeQuery({ payload: isIndented ? undefined : 'indented' }, 'replace')}
        >
          Indented
        </button>
        <CopyButton text={payloadText} label="the payload" />
      </div>
      {payloadText !== '' && (
        <pre class="payload" tabIndex={0}>
          <Text text={isIndented ? indent(payloadText) : payloadText} />
        </pre>
      )}
    </section>
  )
}

function Commands({ message }: { readonly message: ShownDetail }): JSX.Element {
  const path = inQueue('messages', message.id)
  const deeds = deedsFor(message)
  return (
    <details class="panel">
      <summary>As curl</summary>
      <Copyable label="look" text={asCurl('GET', path)} />
      {deeds.includes('run-now') && <Copyable label="run now" text={asCurl('POST', `${path}/run-now`, {})} />}
      {deeds.includes('move') && <Copyable label="move" text={asCurl('PATCH', path, { delay: '10m' })} />}
      {deeds.includes('revive') && <Copyable label="revive" text={asCurl('POST', `${path}/revive`, {})} />}
      {deeds.includes('cancel') && <Copyable label="cancel" text={asCurl('DELETE', path)} />}
    </details>
  )
}
