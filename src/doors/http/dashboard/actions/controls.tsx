/** Holding a topic, or the whole queue, back: pause, resume over some time, limit. */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { FoundControl, FoundLimit } from '../../../../index.ts'
import { CopyButton } from '../parts/copy.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { plainName } from '../parts/name.tsx'
import { TroubleLine } from '../parts/notice.tsx'
import { inQueue, type Method } from '../state/api.ts'
import { asCurl } from '../state/curl.ts'
import { zone } from '../state/preferences.ts'
import { dayAndTime } from '../time/words.ts'
import { usePerform } from './perform.ts'

/** `topic` undefined: the whole queue. */
export type ControlWish = {
  readonly kind: 'pause' | 'resume' | 'limit'
  readonly topic: string | undefined
  readonly limit?: FoundLimit
}

export type ControlDialogProps = { readonly wish: ControlWish; readonly onClose: () => void }

type ControlCall = { readonly method: Method; readonly path: string; readonly body?: unknown }

export function ControlDialog({ wish, onClose }: ControlDialogProps): JSX.Element {
  const { kind, topic } = wish
  const [until, setUntil] = useState('')
  const [over, setOver] = useState('10m')
  const [limit, setLimit] = useState({
    rate: wish.limit?.rate === undefined ? '' : wish.limit.rate,
    burst: String(wish.limit?.burst ?? ''),
    concurrency: String(wish.limit?.concurrency ?? ''),
  })
  const { isBusy, trouble, perform } = usePerform()
  const what = topic === undefined ? 'the whole queue' : plainName(topic)
  const how = controlCall(wish, { until, over, limit })
  const titles = { pause: `Pause ${what}`, resume: `Resume ${what}`, limit: `Limit ${what}` }
  return (
    <Dialog title={titles[kind]} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          perform(how, onClose)
        }}
      >
        {kind === 'pause' && (
          <>
            <p>Nothing of it starts, in any process, until it is resumed. What runs goes on.</p>
            <label class="field">
              Go on by itself after, such as 30m; empty: until somebody resumes it
              <input class="short" value={until} onInput={(event) => setUntil(event.currentTarget.value)} />
            </label>
          </>
        )}
        {kind === 'resume' && (
          <>
            <p>
              What waited would start all at once. Spread over some time, it does not run over what it needs.
            </p>
            <label class="field">
              Over, such as 10m; empty: at once
              <input class="short" value={over} onInput={(event) => setOver(event.currentTarget.value)} />
            </label>
          </>
        )}
        {kind === 'limit' && (
          <>
            <p>
              Over all processes. It takes the place of the limit that is there; all fields empty: no limit.
            </p>
            <label class="field">
              Starts, such as 100/1m
              <input
                class="short"
                value={limit.rate}
                onInput={(event) => setLimit({ ...limit, rate: event.currentTarget.value })}
              />
            </label>
            <label class="field">
              How many of them at once
              <input
                class="short"
                inputMode="numeric"
                value={limit.burst}
                onInput={(event) => setLimit({ ...limit, burst: event.currentTarget.value })}
              />
            </label>
            <label class="field">
              Running at a time
              <input
                class="short"
                inputMode="numeric"
                value={limit.concurrency}
                onInput={(event) => setLimit({ ...limit, concurrency: event.currentTarget.value })}
              />
            </label>
          </>
        )}
        <TroubleLine trouble={trouble} />
        <footer>
          <CopyButton
            text={asCurl(how.method, how.path, how.body)}
            label="this change"
            title="Copy as curl"
          />
          <span class="space" />
          <button type="button" onClick={onClose}>
            Close
          </button>
          <button class="main" disabled={isBusy}>
            {{ pause: 'Pause', resume: 'Resume', limit: 'Set the limit' }[kind]}
          </button>
        </footer>
      </form>
    </Dialog>
  )
}

type ControlFields = {
  readonly until: string
  readonly over: string
  readonly limit: { readonly rate: string; readonly burst: string; readonly concurrency: string }
}

function controlCall({ kind, topic }: ControlWish, { until, over, limit }: ControlFields): ControlCall {
  const at = topic === undefined ? [] : ['topics', topic]
  if (kind === 'pause') {
    const body = until.trim() === '' ? {} : { until: until.trim() }
    return { method: 'PUT', path: inQueue(...at, 'pause'), body }
  }
  if (kind === 'resume') {
    const query = over.trim() === '' ? '' : `?over=${encodeURIComponent(over.trim())}`
    return { method: 'DELETE', path: inQueue(...at, 'pause') + query }
  }
  const path = inQueue(...at, 'limit')
  const body = {
    ...(limit.rate.trim() === '' ? {} : { rate: limit.rate.trim() }),
    ...(limit.burst.trim() === '' ? {} : { burst: Number(limit.burst) }),
    ...(limit.concurrency.trim() === '' ? {} : { concurrency: Number(limit.concurrency) }),
  }
  return Object.keys(body).length === 0 ? { method: 'DELETE', path } : { method: 'PUT', path, body }
}

/** What holds it back, in a few words; undefined when nothing does. */
export function controlText({ paused, limit, over }: FoundControl): string | undefined {
  const parts: string[] = []
  if (paused !== undefined) {
    parts.push(paused.until === undefined ? 'paused' : `paused until ${dayAndTime(paused.until, zone.value)}`)
  }
  if (over !== undefined) parts.push(`resumed at ${over.rate} until ${dayAndTime(over.until, zone.value)}`)
  if (limit?.rate !== undefined) parts.push(`${limit.rate}, ${limit.burst ?? 1} at once`)
  if (limit?.concurrency !== undefined) parts.push(`${limit.concurrency} running at a time`)
  return parts.length === 0 ? undefined : parts.join(' · ')
}
