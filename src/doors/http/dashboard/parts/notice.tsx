/** What went wrong, what is empty, and what may take a moment. */
import type { ComponentChildren, JSX } from 'preact'
import type { Asked } from '../state/ask.ts'
import type { Trouble } from '../state/wire.ts'

/** A refused call: one line where it happened. It never replaces what is shown. */
export function TroubleLine({ trouble }: { readonly trouble: Trouble | undefined }): JSX.Element | null {
  if (trouble === undefined) return null
  return (
    <p class="trouble" role="alert">
      {trouble.detail} <span class="soft">({trouble.code})</span>
    </p>
  )
}

export type EmptyProps = { readonly title: string; readonly children?: ComponentChildren }

export function Empty({ title, children }: EmptyProps): JSX.Element {
  return (
    <div class="empty-state">
      <h2>{title}</h2>
      {children}
    </div>
  )
}

export type AnsweredProps<T> = {
  readonly answer: Asked<T>
  readonly children: (value: T) => ComponentChildren
}

/** Shows an answer as soon as there is one; a newer answer that fails leaves the old one in place, with a line above. */
export function Answered<T>({ answer, children }: AnsweredProps<T>): JSX.Element {
  const { value, trouble, isOld } = answer
  return (
    <>
      <TroubleLine trouble={trouble} />
      {value === undefined ? (
        trouble === undefined && <p class="loading soft">Asking the store…</p>
      ) : (
        <div class={isOld ? 'is-old' : ''}>{children(value)}</div>
      )}
    </>
  )
}
