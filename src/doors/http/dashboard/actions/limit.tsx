/** How fast messages may start and how many may run: of a topic, of each of its keys, or of one key. */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { FoundAllowance, FoundKey, FoundLimit } from '../../../../index.ts'
import { Dialog } from '../parts/dialog.tsx'
import { plainName } from '../parts/name.tsx'
import { TroubleLine } from '../parts/notice.tsx'
import { inQueue } from '../state/api.ts'
import { ChangeFooter, type ControlCall } from './change-footer.tsx'
import { usePerform } from './perform.ts'

type KeyLimitShown = NonNullable<FoundKey['limit']>

/** `limit`: the one that holds now. */
export type LimitWish =
  | { readonly kind: 'limit'; readonly topic: string; readonly limit?: FoundLimit }
  | {
      readonly kind: 'key-limit'
      readonly topic: string
      readonly key: string
      readonly limit?: KeyLimitShown
    }

export type LimitDialogProps = { readonly wish: LimitWish; readonly onClose: () => void }

export function LimitDialog({ wish, onClose }: LimitDialogProps): JSX.Element {
  const [own, setOwn] = useState(fieldsOf(wish.limit))
  const [perKey, setPerKey] = useState(fieldsOf(wish.kind === 'limit' ? wish.limit?.perKey : undefined))
  const [weight, setWeight] = useState(wish.kind === 'key-limit' ? String(wish.limit?.weight ?? '') : '')
  const { isBusy, trouble, perform } = usePerform()
  const how = callOf(wish, { own, perKey, weight })
  const what = plainName(wish.kind === 'limit' ? wish.topic : wish.key)
  return (
    <Dialog title={`Limit ${what}`} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          perform(how, onClose)
        }}
      >
        <p>Over all processes. It takes the place of the limit that is there; all fields empty: no limit.</p>
        <Allowed fields={own} of="" onChange={setOwn} />
        {wish.kind === 'limit' ? (
          <>
            <h3>Each of its keys</h3>
            <Allowed fields={perKey} of=" of each key" onChange={setPerKey} />
          </>
        ) : (
          <Field
            name="Weight: so many are handed out for one of each other key"
            value={weight}
            onChange={setWeight}
          />
        )}
        <TroubleLine trouble={trouble} />
        <ChangeFooter how={how} word="Set the limit" isBusy={isBusy} onClose={onClose} />
      </form>
    </Dialog>
  )
}

type AllowanceFields = { readonly rate: string; readonly burst: string; readonly concurrency: string }

function fieldsOf({ rate, burst, concurrency }: FoundAllowance = {}): AllowanceFields {
  return { rate: rate ?? '', burst: String(burst ?? ''), concurrency: String(concurrency ?? '') }
}

type AllowedProps = {
  readonly fields: AllowanceFields
  readonly of: string
  readonly onChange: (fields: AllowanceFields) => void
}

function Allowed({ fields, of, onChange }: AllowedProps): JSX.Element {
  const change = (name: keyof AllowanceFields) => (value: string) => onChange({ ...fields, [name]: value })
  return (
    <>
      <Field name={`Starts${of}, such as 100/1m`} value={fields.rate} onChange={change('rate')} />
      <Field name={`How many${of} at once`} value={fields.burst} onChange={change('burst')} />
      <Field name={`Running${of} at a time`} value={fields.concurrency} onChange={change('concurrency')} />
    </>
  )
}

type FieldProps = {
  readonly name: string
  readonly value: string
  readonly onChange: (value: string) => void
}

function Field({ name, value, onChange }: FieldProps): JSX.Element {
  return (
    <label class="field">
      {name}
      <input class="short" value={value} onInput={(event) => onChange(event.currentTarget.value)} />
    </label>
  )
}

type LimitFields = {
  readonly own: AllowanceFields
  readonly perKey: AllowanceFields
  readonly weight: string
}

function callOf(wish: LimitWish, { own, perKey, weight }: LimitFields): ControlCall {
  const at = wish.kind === 'limit' ? [] : ['keys', wish.key]
  const path = inQueue('topics', wish.topic, ...at, 'limit')
  const ofEach = allowanceOf(perKey)
  const body = {
    ...allowanceOf(own),
    ...(Object.keys(ofEach).length === 0 ? {} : { perKey: ofEach }),
    ...(weight.trim() === '' ? {} : { weight: Number(weight) }),
  }
  return Object.keys(body).length === 0 ? { method: 'DELETE', path } : { method: 'PUT', path, body }
}

function allowanceOf({ rate, burst, concurrency }: AllowanceFields): Record<string, string | number> {
  return {
    ...(rate.trim() === '' ? {} : { rate: rate.trim() }),
    ...(burst.trim() === '' ? {} : { burst: Number(burst) }),
    ...(concurrency.trim() === '' ? {} : { concurrency: Number(concurrency) }),
  }
}

/** In a few words. */
export function limitParts({ rate, burst, concurrency, ...more }: FoundLimit | KeyLimitShown): string[] {
  const perKey = 'perKey' in more ? more.perKey : undefined
  const weight = 'weight' in more ? more.weight : undefined
  return [
    ...(rate === undefined ? [] : [`${rate}, ${burst ?? 1} at once`]),
    ...(concurrency === undefined ? [] : [`${concurrency} running at a time`]),
    ...(perKey === undefined ? [] : [`each key: ${limitParts(perKey).join(', ')}`]),
    ...(weight === undefined ? [] : [`weight ${weight}`]),
  ]
}
