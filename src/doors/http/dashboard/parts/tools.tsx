/** What stands above every page: find, live or paused, zone, theme, keys. */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { changeQuery, go, linkTo, place } from '../state/address.ts'
import { call, inQueue, troubleOf } from '../state/api.ts'
import { link, pauseOrGoOn } from '../state/live.ts'
import { chooseZone, nextTheme, theme, zone, ZONE_CHOICES, zoneChoice } from '../state/preferences.ts'
import { logOut, server, session } from '../state/session.ts'
import { zoneName } from '../time/zone.ts'

export function Tools(): JSX.Element {
  return (
    <section class="bar-top" aria-label="Tools">
      {place.value.queue !== undefined && <Find />}
      <div class="controls">
        {place.value.queue !== undefined && <LiveButton />}
        <ZoneSelect />
        <button
          class="quiet"
          onClick={nextTheme}
          aria-label={`Theme: ${theme.value}`}
          title={`Theme: ${theme.value}`}
        >
          {{ system: '◐', light: '○', dark: '●' }[theme.value]}
        </button>
        <button
          class="quiet"
          onClick={() => changeQuery({ keys: 'shown' }, 'replace')}
          aria-label="Keys"
          title="Keys"
        >
          ?
        </button>
        {session.value.kind === 'in' && !session.value.viewer.isOpen && (
          <button class="quiet" onClick={() => void logOut()}>
            Log out
          </button>
        )}
      </div>
    </section>
  )
}

/** An id leads to its message; anything else is looked for in ids, tags and payloads, in all states. */
function Find(): JSX.Element {
  const [text, setText] = useState('')
  const find = async (): Promise<void> => {
    const wanted = text.trim()
    if (wanted === '') return
    setText('')
    document.getElementById('main')?.focus()
    try {
      await call('GET', inQueue('messages', wanted))
      go(linkTo('messages', {}, wanted))
    } catch (error) {
      // No message of this name: 404, or 400 where no id can be written like this.
      if ([400, 403, 404].includes(troubleOf(error).status)) go(linkTo('messages', { find: wanted }))
    }
  }
  return (
    <form
      class="find"
      role="search"
      onSubmit={(event) => {
        event.preventDefault()
        void find()
      }}
    >
      <input
        id="find"
        type="search"
        value={text}
        placeholder="Find an id, a tag, or text in payloads"
        aria-label="Find a message"
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.blur()}
      />
      <kbd aria-hidden="true">/</kbd>
    </form>
  )
}

const LINK_WORDS = {
  connecting: 'Connecting',
  live: 'Live',
  paused: 'Paused',
  away: 'Store away',
  lost: 'Reconnecting',
  barred: 'Refused',
} as const

function LiveButton(): JSX.Element {
  const { kind } = link.value
  const isPaused = kind === 'paused'
  return (
    <button
      class={`live live-${kind}`}
      aria-pressed={isPaused}
      onClick={pauseOrGoOn}
      title={isPaused ? 'Go on with live updates' : 'Pause live updates'}
    >
      <span class="dot" aria-hidden="true" />
      {LINK_WORDS[kind]}
    </button>
  )
}

const ZONE_WORDS = { browser: 'Browser time', utc: 'UTC', server: 'Server time' } as const

function ZoneSelect(): JSX.Element {
  const isNamed = !ZONE_CHOICES.some((choice) => choice === zoneChoice.value)
  return (
    <select
      class="zone"
      aria-label="Time zone"
      onMouseEnter={(event) => (event.currentTarget.title = zoneName(zone.value))}
      value={zoneChoice.value}
      onChange={(event) => chooseZone(event.currentTarget.value)}
    >
      {ZONE_CHOICES.filter((choice) => choice !== 'server' || server.value?.zone !== undefined).map(
        (choice) => (
          <option key={choice} value={choice}>
            {ZONE_WORDS[choice]}
          </option>
        ),
      )}
      {isNamed && <option value={zoneChoice.value}>{zoneName(zone.value)}</option>}
    </select>
  )
}
