/** Holding a topic, or the whole queue, back: pause, and resume over some time. */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { FoundControl } from '../../../../index.ts'
import { Dialog } from '../parts/dialog.tsx'
import { plainName } from '../parts/name.tsx'
import { TroubleLine } from '../parts/notice.tsx'
import { inQueue } from '../state/api.ts'
import { zone } from '../state/preferences.ts'
import { dayAndTime } from '../time/words.ts'
import { ChangeFooter, type ControlCall } from './change-footer.tsx'
import { limitParts } from './limit.tsx'
import { usePerform } from './perform.ts'

/** `topic` undefined: the whole queue. */
export type ControlWish = {
  readonly kind: 'pause' | 'resume'
  readonly topic: string | undefined
}

export type ControlDialogProps = { readonly wish: ControlWish; readonly onClose: () => void }

export function ControlDialog({ wish, onClose }: ControlDialogProps): JSX.Element {
  const { kind, topic } = wish
  const [until, setUntil] = useState('')
  const [over, setOver] = useState('10m')
  const { isBusy, trouble, perform } = usePerform()
  const what = topic === undefined ? 'the whole queue' : plainName(topic)
  const how = controlCall(wish, { until, over })
  return (
    <Dialog title={`${kind === 'pause' ? 'Pause' : 'Resume'} ${what}`} onClose={onClose}>
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
        <TroubleLine trouble={trouble} />
        <ChangeFooter
          how={how}
          word={kind === 'pause' ? 'Pause' : 'Resume'}
          isBusy={isBusy}
          onClose={onClose}
        />
      </form>
    </Dialog>
  )
}

type ControlFields = { readonly until: string; readonly over: string }

function controlCall({ kind, topic }: ControlWish, { until, over }: ControlFields): ControlCall {
  const at = topic === undefined ? [] : ['topics', topic]
  if (kind === 'pause') {
    const body = until.trim() === '' ? {} : { until: until.trim() }
    return { method: 'PUT', path: inQueue(...at, 'pause'), body }
  }
  const query = over.trim() === '' ? '' : `?over=${encodeURIComponent(over.trim())}`
  return { method: 'DELETE', path: inQueue(...at, 'pause') + query }
}

/** What holds it back, in a few words; undefined when nothing does. */
export function controlText({ paused, limit, hasKeyLimits, over }: FoundControl): string | undefined {
  const parts: string[] = []
  if (paused !== undefined) {
    parts.push(paused.until === undefined ? 'paused' : `paused until ${dayAndTime(paused.until, zone.value)}`)
  }
  if (over !== undefined) parts.push(`resumed at ${over.rate} until ${dayAndTime(over.until, zone.value)}`)
  if (limit !== undefined) parts.push(...limitParts(limit))
  if (hasKeyLimits === true) parts.push('some keys limited by themselves')
  return parts.length === 0 ? undefined : parts.join(' · ')
}
