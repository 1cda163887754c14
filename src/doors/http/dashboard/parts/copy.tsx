/** Text to take along. */
import type { JSX } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { after } from '../state/clock.ts'

export type CopyProps = { readonly text: string; readonly label: string }

/** The text is shown, so that it can be read before it is run and copied by hand where a browser refuses to. */
export function Copyable({ text, label }: CopyProps): JSX.Element {
  const shown = useRef<HTMLPreElement>(null)
  return (
    <div class="copyable">
      <pre ref={shown} tabIndex={0} aria-label={label}>
        {text}
      </pre>
      <CopyButton text={text} label={label} select={() => selectAll(shown.current)} />
    </div>
  )
}

type CopyButtonProps = CopyProps & { readonly title?: string; readonly select?: () => void }

export function CopyButton({ text, label, title = 'Copy', select }: CopyButtonProps): JSX.Element {
  const [said, say] = useState<string | undefined>(undefined)
  const copy = async (): Promise<void> => {
    say((await write(text)) ? 'Copied' : selected(select))
    after(2_000, () => say(undefined))
  }
  return (
    <button
      class="quiet"
      aria-label={said === undefined ? `${title}: ${label}` : undefined}
      onClick={() => void copy()}
    >
      {said ?? title}
    </button>
  )
}

function selected(select: (() => void) | undefined): string {
  select?.()
  return select === undefined ? 'Not allowed here' : 'Press Ctrl-C'
}

/** On plain http a browser has no clipboard for pages. */
async function write(text: string): Promise<boolean> {
  const clipboard = navigator.clipboard as Clipboard | undefined
  if (clipboard === undefined) return false
  return clipboard.writeText(text).then(
    () => true,
    () => false,
  )
}

function selectAll(element: HTMLElement | null): void {
  if (element !== null) getSelection()?.selectAllChildren(element)
}
