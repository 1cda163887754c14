/** Under a form that changes something: the same change as a command, the way back, and the button. */
import type { JSX } from 'preact'
import { CopyButton } from '../parts/copy.tsx'
import type { Method } from '../state/api.ts'
import { asCurl } from '../state/curl.ts'

export type ControlCall = { readonly method: Method; readonly path: string; readonly body?: unknown }

export type ChangeFooterProps = {
  readonly how: ControlCall
  readonly word: string
  readonly isBusy: boolean
  readonly onClose: () => void
}

export function ChangeFooter({ how, word, isBusy, onClose }: ChangeFooterProps): JSX.Element {
  return (
    <footer>
      <CopyButton text={asCurl(how.method, how.path, how.body)} label="this change" title="Copy as curl" />
      <span class="space" />
      <button type="button" onClick={onClose}>
        Close
      </button>
      <button class="main" disabled={isBusy}>
        {word}
      </button>
    </footer>
  )
}
