/** What can be done to one message. */
import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { Dialog } from '../parts/dialog.tsx'
import { usePageKeys, type KeyBinding } from '../parts/keys.tsx'
import { plainName } from '../parts/name.tsx'
import { TroubleLine } from '../parts/notice.tsx'
import { inQueue } from '../state/api.ts'
import { isReachable } from '../state/live.ts'
import { mayOperate } from '../state/session.ts'
import type { ShownDetail } from '../state/wire.ts'
import { ManyDialog } from './many.tsx'
import { chosenBody, MomentForm, type Chosen } from './moment-form.tsx'
import { usePerform } from './perform.ts'

export type Deedable = 'run-now' | 'move' | 'cancel' | 'revive' | 'purge'

const WORDS: Readonly<Record<Deedable, readonly [string, string]>> = {
  'run-now': ['n', 'Run now'],
  move: ['m', 'Move…'],
  cancel: ['c', 'Cancel…'],
  revive: ['v', 'Revive'],
  purge: ['p', 'Purge…'],
}

export function deedsFor({ state, isCancelling }: ShownDetail): Deedable[] {
  switch (state) {
    case 'delayed':
      return ['run-now', 'move', 'cancel']
    case 'ready':
      return ['move', 'cancel']
    case 'running':
      return isCancelling === true ? [] : ['cancel']
    case 'dead':
      return ['revive', 'purge']
    default:
      return ['purge']
  }
}

/** `onGone`: the message is there no longer. */
export type OneActionsProps = { readonly message: ShownDetail; readonly onGone: () => void }

export function OneActions({ message, onGone }: OneActionsProps): JSX.Element | null {
  const { id, state } = message
  const [open, setOpen] = useState<Deedable | undefined>(undefined)
  const { isBusy, trouble, perform } = usePerform()
  const begin = (deed: Deedable): void => {
    if (deed === 'run-now' || deed === 'revive') {
      perform({ method: 'POST', path: inQueue('messages', id, deed), body: {} }, () => setOpen(undefined))
    } else setOpen(deed)
  }
  const deeds = mayOperate() ? deedsFor(message) : []
  const keys = useMemo<KeyBinding[]>(
    () => deeds.map((deed) => ({ keys: WORDS[deed][0], does: WORDS[deed][1], run: () => begin(deed) })),
    [deeds.join(' '), id],
  )
  usePageKeys(keys)
  if (deeds.length === 0) return null
  const close = (): void => setOpen(undefined)
  return (
    <>
      <div class="actions">
        {deeds.map((deed) => (
          <button key={deed} disabled={isBusy || !isReachable.value} onClick={() => begin(deed)}>
            {WORDS[deed][1]}
          </button>
        ))}
      </div>
      <TroubleLine trouble={trouble} />
      {open === 'move' && <MoveDialog message={message} onClose={close} />}
      {open === 'cancel' && (
        <CancelDialog id={id} isRunning={state === 'running'} onClose={close} onGone={onGone} />
      )}
      {open === 'purge' && (
        <ManyDialog
          wish={{ action: 'purge', filter: { ids: [id] }, about: `The message ${plainName(id)}.` }}
          onClose={close}
        />
      )}
    </>
  )
}

type MoveProps = { readonly message: ShownDetail; readonly onClose: () => void }

function MoveDialog({ message, onClose }: MoveProps): JSX.Element {
  const [chosen, setChosen] = useState<Chosen>({ kind: 'delay', delay: '10m', at: message.dueAt })
  const { isBusy, trouble, perform } = usePerform()
  return (
    <Dialog title={`Move ${plainName(message.id)}`} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          perform(
            { method: 'PATCH', path: inQueue('messages', message.id), body: chosenBody(chosen) },
            onClose,
          )
        }}
      >
        <MomentForm chosen={chosen} onChange={setChosen} />
        <TroubleLine trouble={trouble} />
        <footer>
          <span class="space" />
          <button type="button" onClick={onClose}>
            Close
          </button>
          <button class="main" disabled={isBusy}>
            Move
          </button>
        </footer>
      </form>
    </Dialog>
  )
}

type CancelProps = {
  readonly id: string
  readonly isRunning: boolean
  readonly onClose: () => void
  readonly onGone: () => void
}

function CancelDialog({ id, isRunning, onClose, onGone }: CancelProps): JSX.Element {
  const { isBusy, trouble, perform } = usePerform()
  const path = inQueue('messages', id) + (isRunning ? '?running=true' : '')
  return (
    <Dialog title={`Cancel ${plainName(id)}`} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          perform({ method: 'DELETE', path }, () => {
            onClose()
            if (!isRunning) onGone()
          })
        }}
      >
        <p>
          {isRunning
            ? 'It runs. Its handler is told to stop, wherever it runs, and it is not retried.'
            : 'It is removed and will not run. This cannot be taken back.'}
        </p>
        <TroubleLine trouble={trouble} />
        <footer>
          <span class="space" />
          <button type="button" onClick={onClose}>
            Keep it
          </button>
          <button class="main is-bad" disabled={isBusy}>
            Cancel the message
          </button>
        </footer>
      </form>
    </Dialog>
  )
}
