/** Making a schedule, or changing one: what it is told, and when it would fire then. */
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { usePerform } from '../actions/perform.ts'
import { Dialog } from '../parts/dialog.tsx'
import { TroubleLine } from '../parts/notice.tsx'
import { When } from '../parts/when.tsx'
import { call, inQueue, troubleOf } from '../state/api.ts'
import { after } from '../state/clock.ts'
import type { ScheduleSpecShown, Trouble } from '../state/wire.ts'
import { plainName } from '../parts/name.tsx'

export type ScheduleFormProps = {
  /** Absent: a new one. */
  readonly known?: { readonly name: string; readonly spec: ScheduleSpecShown }
  readonly onClose: () => void
}

type FormFields = {
  readonly name: string
  readonly topic: string
  readonly payload: string
  readonly kind: 'cron' | 'every'
  readonly cron: string
  readonly zone: string
  readonly every: string
  readonly overlap: 'allow' | 'skip'
}

const NO_SPEC: ScheduleSpecShown = { topic: '' }

/** Beside what the form shows, everything stays as it was. Days are of a cron expression. */
function specOf(fields: FormFields, before: ScheduleSpecShown | undefined): ScheduleSpecShown {
  const { cron: _cron, zone: _zone, every: _every, payload: _payload, ...whole } = before ?? NO_SPEC
  const { days, except, ...rest } = whole
  const onDays = { ...(days === undefined ? {} : { days }), ...(except === undefined ? {} : { except }) }
  const { kind, cron, zone, every, topic, payload, overlap } = fields
  return {
    ...rest,
    topic: topic.trim(),
    overlap,
    ...(payload.trim() === '' ? {} : { payload: JSON.parse(payload) as unknown }),
    ...(kind === 'cron'
      ? { cron: cron.trim(), zone: zone.trim() === '' ? 'UTC' : zone.trim(), ...onDays }
      : { every: /^\d+$/.test(every.trim()) ? Number(every) : every.trim() }),
  }
}

function fieldsOf({ name, spec }: NonNullable<ScheduleFormProps['known']>): FormFields {
  return {
    name,
    topic: spec.topic,
    payload: spec.payload === undefined ? '' : JSON.stringify(spec.payload),
    kind: spec.every === undefined ? 'cron' : 'every',
    cron: spec.cron ?? '0 9 * * mon-fri',
    zone: spec.zone ?? 'UTC',
    every: String(spec.every ?? '1h'),
    overlap: spec.overlap ?? 'allow',
  }
}

const NEW: FormFields = {
  name: '',
  topic: '',
  payload: '',
  kind: 'cron',
  cron: '0 9 * * mon-fri',
  zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  every: '1h',
  overlap: 'allow',
}

export function ScheduleForm({ known, onClose }: ScheduleFormProps): JSX.Element {
  const [fields, setFields] = useState(known === undefined ? NEW : fieldsOf(known))
  const { isBusy, trouble, perform } = usePerform()
  const [wrong, setWrong] = useState<Trouble | undefined>(undefined)
  const set = (changes: Partial<FormFields>): void => setFields({ ...fields, ...changes })
  const field = (name: 'topic' | 'cron' | 'zone' | 'every' | 'name', label: string): JSX.Element => (
    <label class="field">
      {label}
      <input
        value={fields[name]}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => set({ [name]: event.currentTarget.value })}
      />
    </label>
  )
  const save = (): void => {
    try {
      const body = specOf(fields, known?.spec)
      setWrong(undefined)
      perform({ method: 'PUT', path: inQueue('schedules', fields.name.trim()), body }, onClose)
    } catch {
      setWrong({ title: '', status: 0, detail: 'The payload is not JSON.', code: 'PAYLOAD' })
    }
  }
  return (
    <Dialog
      title={known === undefined ? 'New schedule' : `Change ${plainName(known.name)}`}
      onClose={onClose}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault()
          save()
        }}
      >
        {known === undefined && field('name', 'Name')}
        {field('topic', 'Topic')}
        <div class="choices" role="group" aria-label="Rhythm">
          <button type="button" aria-pressed={fields.kind === 'cron'} onClick={() => set({ kind: 'cron' })}>
            By the calendar
          </button>
          <button type="button" aria-pressed={fields.kind === 'every'} onClick={() => set({ kind: 'every' })}>
            Every so often
          </button>
        </div>
        {fields.kind === 'cron' ? (
          <div class="field-pair">
            {field('cron', 'Cron: minute hour day month weekday')}
            {field('zone', 'Time zone')}
          </div>
        ) : (
          field('every', 'Every, such as 5m or 1h')
        )}
        <label class="field">
          Payload, as JSON; empty: none
          <textarea
            rows={3}
            spellcheck={false}
            value={fields.payload}
            onInput={(event) => set({ payload: event.currentTarget.value })}
          />
        </label>
        <label class="choice">
          <input
            type="checkbox"
            checked={fields.overlap === 'skip'}
            onChange={(event) => set({ overlap: event.currentTarget.checked ? 'skip' : 'allow' })}
          />
          Skip an occurrence while the one before waits or runs
        </label>
        <NextOf fields={fields} />
        <TroubleLine trouble={wrong ?? trouble} />
        <footer>
          <span class="space" />
          <button type="button" onClick={onClose}>
            Close
          </button>
          <button class="main" disabled={isBusy}>
            {known === undefined ? 'Make the schedule' : 'Change it'}
          </button>
        </footer>
      </form>
    </Dialog>
  )
}

const SHOWN = 10
/** Who types is not answered at each key. */
const REST_MS = 400

/** When it would fire: asked of the server, which will decide it. */
function NextOf({ fields }: { readonly fields: FormFields }): JSX.Element {
  const [next, setNext] = useState<readonly number[]>([])
  const [trouble, setTrouble] = useState<Trouble | undefined>(undefined)
  const { kind, cron, zone, every, topic } = fields
  useEffect(() => {
    const abort = new AbortController()
    const stop = after(REST_MS, () => {
      const spec = specOf({ ...fields, payload: '', topic: topic.trim() === '' ? 'topic' : topic }, undefined)
      call<{ next: readonly number[] }>('POST', `${inQueue()}/schedules:next`, {
        body: { spec, count: SHOWN },
        signal: abort.signal,
      }).then(
        (answer) => {
          setNext(answer.next)
          setTrouble(undefined)
        },
        (error: unknown) => !abort.signal.aborted && setTrouble(troubleOf(error)),
      )
    })
    return () => {
      stop()
      abort.abort()
    }
  }, [kind, cron, zone, every, topic])
  if (trouble !== undefined) return <TroubleLine trouble={trouble} />
  return (
    <details open>
      <summary>Next {SHOWN}</summary>
      <ol class="occurrences">
        {next.map((at) => (
          <li key={at}>
            <When at={at} />
          </li>
        ))}
      </ol>
    </details>
  )
}
