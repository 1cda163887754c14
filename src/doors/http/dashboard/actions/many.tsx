/**
 * Acting on many: choose how, see how many and which, then agree. What is agreed to is signed by the server: the job acts
 * on that filter and stops by itself when it meets many more than were shown.
 */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Dialog } from '../parts/dialog.tsx'
import { TroubleLine } from '../parts/notice.tsx'
import { inQueue } from '../state/api.ts'
import { asCurl } from '../state/curl.ts'
import { hearJob } from '../state/live.ts'
import { zone } from '../state/preferences.ts'
import type { ManyFilter, ManyJob, ManyPreview } from '../state/wire.ts'
import { count, moment, plural } from '../time/words.ts'
import { CopyButton } from '../parts/copy.tsx'
import { chosenBody, MomentForm, type Chosen } from './moment-form.tsx'
import { usePerform } from './perform.ts'

export type ManyAction = 'cancel' | 'move' | 'spread' | 'revive' | 'purge'

/** What is asked for before anything is known of the messages. */
export type ManyWish = {
  readonly action: ManyAction
  readonly filter: ManyFilter
  /** In words: "all delayed messages of mail.send". */
  readonly about: string
  /** Where a spread begins, and how long it is. */
  readonly at?: number
  readonly spread?: string
}

const TITLES: Readonly<Record<ManyAction, string>> = {
  cancel: 'Cancel messages',
  move: 'Move messages',
  spread: 'Spread messages',
  revive: 'Revive dead letters',
  purge: 'Purge messages',
}

const VERBS: Readonly<Record<ManyAction, string>> = {
  cancel: 'Cancel',
  move: 'Move',
  spread: 'Spread',
  revive: 'Revive',
  purge: 'Purge',
}

/** What cannot be taken back wants its number typed. */
const TYPED_FROM = 2
const isFinal = (action: ManyAction): boolean => action === 'cancel' || action === 'purge'

export type ManyDialogProps = { readonly wish: ManyWish; readonly onClose: () => void }

export function ManyDialog({ wish, onClose }: ManyDialogProps): JSX.Element {
  const { action, filter, about } = wish
  const [chosen, setChosen] = useState<Chosen>({
    kind: wish.at === undefined ? 'delay' : 'at',
    delay: '10m',
    at: wish.at,
  })
  const [spread, setSpread] = useState(wish.spread ?? '10m')
  const [rate, setRate] = useState('50/1s')
  const [preview, setPreview] = useState<ManyPreview | undefined>(undefined)
  const [typed, setTyped] = useState('')
  const { isBusy, trouble, perform } = usePerform()

  const path = inQueue('bulk')
  const how = { ...howBody(action, { chosen, spread, rate }), filter }
  const ask = (): void =>
    perform({ method: 'POST', path, body: { ...how, dryRun: true } }, (counted) =>
      setPreview(counted as ManyPreview),
    )
  const agree = ({ confirm }: ManyPreview): void =>
    perform({ method: 'POST', path, body: { ...how, confirm } }, (job) => {
      hearJob(job as ManyJob)
      onClose()
    })
  const needsTyping = preview !== undefined && isFinal(action) && preview.matches >= TYPED_FROM
  const isAgreed = preview !== undefined && (!needsTyping || digits(typed) === String(preview.matches))

  return (
    <Dialog title={TITLES[action]} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (preview === undefined) ask()
          else if (isAgreed && preview.matches > 0) agree(preview)
        }}
      >
        <p>{about}</p>
        <fieldset class="plain" disabled={preview !== undefined}>
          {action === 'move' && <MomentForm chosen={chosen} onChange={setChosen} />}
          {action === 'spread' && (
            <SpreadForm chosen={chosen} setChosen={setChosen} spread={spread} setSpread={setSpread} />
          )}
          {action === 'revive' && (
            <label class="field">
              At most so many a time, such as 50/1s; empty: all at once
              <input class="short" value={rate} onInput={(event) => setRate(event.currentTarget.value)} />
            </label>
          )}
        </fieldset>
        {preview !== undefined && <Preview preview={preview} />}
        {needsTyping && (
          <label class="field">
            This cannot be taken back. Type {preview.matches} to go on
            <input
              class="short"
              inputMode="numeric"
              autocomplete="off"
              value={typed}
              ref={(input) => void (typed === '' && input?.focus())}
              onInput={(event) => setTyped(event.currentTarget.value)}
            />
          </label>
        )}
        <TroubleLine trouble={trouble} />
        <footer>
          <CopyButton
            text={asCurl('POST', path, { ...how, dryRun: true })}
            label="the preview"
            title="Copy as curl"
          />
          <span class="space" />
          {preview === undefined ? (
            <button type="button" onClick={onClose}>
              Close
            </button>
          ) : (
            <button type="button" onClick={() => setPreview(undefined)}>
              Back
            </button>
          )}
          {preview === undefined ? (
            <button class="main" disabled={isBusy}>
              {isBusy ? 'Counting…' : 'Preview'}
            </button>
          ) : (
            <button
              class={isFinal(action) ? 'main is-bad' : 'main'}
              disabled={isBusy || !isAgreed || preview.matches === 0}
            >
              {VERBS[action]} {howMany(preview)}
            </button>
          )}
        </footer>
      </form>
    </Dialog>
  )
}

type How = { readonly chosen: Chosen; readonly spread: string; readonly rate: string }

function howBody(action: ManyAction, { chosen, spread, rate }: How): Readonly<Record<string, unknown>> {
  switch (action) {
    case 'move':
      return { action: 'reschedule', ...chosenBody(chosen) }
    case 'spread':
      return { action: 'reschedule', ...chosenBody(chosen), spread }
    case 'revive':
      return { action: 'revive', ...(rate.trim() === '' ? {} : { rate: rate.trim() }) }
    default:
      return { action }
  }
}

function digits(text: string): string {
  return text.replaceAll(/[^0-9]/g, '')
}

function howMany({ matches, isAtLeast }: ManyPreview): string {
  return `${isAtLeast ? 'at least ' : ''}${count(matches)}`
}

type SpreadFormProps = {
  readonly chosen: Chosen
  readonly setChosen: (chosen: Chosen) => void
  readonly spread: string
  readonly setSpread: (spread: string) => void
}

function SpreadForm({ chosen, setChosen, spread, setSpread }: SpreadFormProps): JSX.Element {
  return (
    <>
      <MomentForm chosen={chosen} onChange={setChosen} />
      <label class="field">
        Spread evenly over, from that moment on
        <input class="short" value={spread} onInput={(event) => setSpread(event.currentTarget.value)} />
      </label>
      <p class="soft">
        Each message gets a stable place in that time. One that is due late in the burst may move to an
        earlier moment, but never before the one you choose.
      </p>
    </>
  )
}

function Preview({ preview }: { readonly preview: ManyPreview }): JSX.Element {
  if (preview.matches === 0) return <p role="status">Nothing matches now.</p>
  return (
    <div class="preview" role="status">
      <p>
        <strong>
          {preview.isAtLeast ? 'At least ' : ''}
          {plural(preview.matches, 'message')}
        </strong>
        , among them:
      </p>
      <ul>
        {preview.sample.map(({ id, topic, dueAt, preview: payload }) => (
          <li key={id}>
            <code>{id}</code> <span class="soft">{topic}</span> {moment(dueAt, zone.value)}
            {payload !== undefined && <code class="soft payload-line">{payload}</code>}
          </li>
        ))}
      </ul>
    </div>
  )
}
