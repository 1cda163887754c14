/** Before a queue is shown: the token, and which queue. */
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Answered, Empty, TroubleLine } from '../parts/notice.tsx'
import { PageHead } from '../parts/shell.tsx'
import { go, linkTo } from '../state/address.ts'
import { useAnswer } from '../state/ask.ts'
import { after } from '../state/clock.ts'
import { logIn, openSession } from '../state/session.ts'
import type { Trouble } from '../state/wire.ts'

export function LoginPage({ trouble }: { readonly trouble: Trouble | undefined }): JSX.Element {
  const [token, setToken] = useState('')
  return (
    <main class="login" id="main" tabIndex={-1}>
      <h1>punctual</h1>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void logIn(token.trim())
        }}
      >
        <label class="field">
          Token
          <input
            type="password"
            autocomplete="current-password"
            value={token}
            onInput={(event) => setToken(event.currentTarget.value)}
          />
        </label>
        <TroubleLine trouble={trouble} />
        <button class="main" disabled={token.trim() === ''}>
          Log in
        </button>
      </form>
      <p class="soft">
        The server was started with tokens. <code>punctual token</code> makes one; the scope <code>read</code>{' '}
        is enough to look, <code>operate</code> to act.
      </p>
    </main>
  )
}

const RETRY_MS = 2_000

export function UnreachablePage({ trouble }: { readonly trouble: Trouble }): JSX.Element {
  useEffect(() => after(RETRY_MS, () => void openSession()), [trouble])
  return (
    <main class="login" id="main" tabIndex={-1}>
      <h1>punctual</h1>
      <TroubleLine trouble={trouble} />
      <p class="soft">Trying again every two seconds.</p>
    </main>
  )
}

export function QueuesPage(): JSX.Element {
  const answer = useAnswer<{ queues: readonly { name: string }[] }>('/v1/queues')
  const names = answer.value?.queues.map(({ name }) => name) ?? []
  const [only] = names
  useEffect(() => {
    if (names.length === 1 && only !== undefined) go(linkTo('now', {}, undefined, only), 'replace')
  }, [names.length, only])
  return (
    <>
      <PageHead title="Queues" />
      <Answered answer={answer}>
        {({ queues }) =>
          queues.length === 0 ? (
            <Empty title="No queues." />
          ) : (
            <ul class="queues">
              {queues.map(({ name }) => (
                <li key={name}>
                  <a href={linkTo('now', {}, undefined, name)}>{name}</a>
                </li>
              ))}
            </ul>
          )
        }
      </Answered>
    </>
  )
}
