/** The keyboard: one table, from which the keys work and the `?` page is made. */
import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { changeQuery, go, linkTo, place, type PageName } from '../state/address.ts'
import { after } from '../state/clock.ts'
import { pauseOrGoOn } from '../state/live.ts'
import { nextTheme, nextZone } from '../state/preferences.ts'
import { Dialog } from './dialog.tsx'

export type KeyBinding = { readonly keys: string; readonly does: string; readonly run: () => void }

const PAGE_KEYS: readonly (readonly [string, PageName, string])[] = [
  ['n', 'now', 'Now'],
  ['m', 'messages', 'Messages'],
  ['f', 'forecast', 'Forecast'],
  ['d', 'dead', 'Dead letters'],
  ['w', 'workers', 'Workers'],
  ['t', 'topics', 'Topics'],
  ['s', 'schedules', 'Schedules'],
  ['c', 'doctor', 'Doctor (check-up)'],
]

const EVERYWHERE: readonly KeyBinding[] = [
  { keys: '/', does: 'Find a message', run: () => document.getElementById('find')?.focus() },
  { keys: 'r', does: 'Pause live updates, or go on', run: pauseOrGoOn },
  { keys: 'z', does: 'Next time zone: browser, UTC, server', run: nextZone },
  { keys: 'l', does: 'Next theme: system, light, dark', run: nextTheme },
  { keys: '?', does: 'Show this page', run: () => changeQuery({ keys: 'shown' }, 'replace') },
  ...PAGE_KEYS.map(([key, page, name]) => ({
    keys: `g ${key}`,
    does: `Go to ${name}`,
    run: () => go(linkTo(page)),
  })),
]

/** Of the page that is shown. */
const pageKeys = signal<readonly KeyBinding[]>([])

export function usePageKeys(bindings: readonly KeyBinding[]): void {
  useEffect(() => {
    pageKeys.value = bindings
    return () => (pageKeys.value = [])
  }, [bindings])
}

/** After `g` the second key is waited for so long. */
const SECOND_KEY_MS = 1_500
let first = ''
let forget = (): void => {}

export function startKeys(): void {
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
    if (document.querySelector('dialog[open]') !== null) return
    const keys = first === '' ? event.key : `${first} ${event.key}`
    first = ''
    forget()
    const all = [...pageKeys.value, ...EVERYWHERE]
    const found = all.find((binding) => binding.keys === keys)
    if (found !== undefined) {
      event.preventDefault()
      found.run()
    } else if (event.key === 'g') {
      first = 'g'
      forget = after(SECOND_KEY_MS, () => (first = ''))
    }
  })
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  if (target instanceof HTMLInputElement) return target.type !== 'checkbox' && target.type !== 'radio'
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement
}

export function KeysDialog(): JSX.Element | null {
  if (!place.value.query.has('keys')) return null
  return (
    <Dialog title="Keys" onClose={() => changeQuery({ keys: undefined }, 'replace')}>
      <div class="keys">
        {pageKeys.value.length > 0 && <KeyList title="On this page" bindings={pageKeys.value} />}
        <KeyList title="Everywhere" bindings={EVERYWHERE} />
        <KeyList title="In a chart" bindings={IN_A_CHART} />
      </div>
    </Dialog>
  )
}

const nothing = (): void => {}
const IN_A_CHART: readonly KeyBinding[] = [
  { keys: '← →', does: 'Walk from bar to bar', run: nothing },
  { keys: 'Shift ← →', does: 'Mark a range', run: nothing },
  { keys: 'Enter', does: 'Zoom into it', run: nothing },
]

type KeyListProps = { readonly title: string; readonly bindings: readonly KeyBinding[] }

function KeyList({ title, bindings }: KeyListProps): JSX.Element {
  return (
    <section>
      <h3>{title}</h3>
      <dl>
        {bindings.map(({ keys, does }) => (
          <div key={keys}>
            <dt>
              {keys.split(' ').map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}
