/** Before a queue is shown: the token, and which queue. */
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Answered, Empty, TroubleLine } from '../parts/notice.tsx'
import { plainName, Text } from '../parts/name.tsx'
import { PageHead } from '../parts/shell.tsx'
import { go, linkTo, place } from '../state/address.ts'
import { useAnswer } from '../state/ask.ts'
import { after } from '../state/clock.ts'
import { logIn, logOut, openSession } from '../state/session.ts'
import type { Trouble, Viewer } from '../state/wire.ts'

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
        This server was started with tokens, which say who may do what. Its operator makes one:
      </p>
      <pre tabIndex={0} aria-label="A command for that">
        punctual token add NAME --scope read --scope operate
      </pre>
      <p class="soft">
        The scope <code>read</code> is enough to look, <code>operate</code> to act. The token is shown once,
        and begins with <code>ptk_</code>. A cookie stands for it here for twelve hours, or until you log out.
      </p>
    </main>
  )
}

/** The token is good, and not for looking. */
export function BlindPage({ viewer }: { readonly viewer: Viewer }): JSX.Element {
  return (
    <main class="login" id="main" tabIndex={-1}>
      <h1>punctual</h1>
      <p>
        The token <strong>{viewer.name}</strong> may not look: the dashboard needs the scope <code>read</code>
        , and this one has {viewer.scopes.join(', ')}.
      </p>
      <button class="main" onClick={() => void logOut()}>
        Log in with another token
      </button>
    </main>
  )
}

/** The server answers, and this queue is not for us, or not there. */
export function BarredPage({ trouble }: { readonly trouble: Trouble }): JSX.Element {
  const { queue = '' } = place.value
  const isMissing = trouble.status === 404
  return (
    <>
      <PageHead title={isMissing ? 'No such queue' : 'Not for this token'} />
      <Empty
        title={
          isMissing
            ? `This server has no queue “${plainName(queue)}”.`
            : `Your token is not for the queue “${plainName(queue)}”.`
        }
      >
        <p>
          {isMissing
            ? 'A queue is there as soon as a message was produced to it, and the server was told to serve it, or all queues of its store.'
            : trouble.detail}
        </p>
        <p>These are there for you:</p>
      </Empty>
      <QueueList />
    </>
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
      <QueueList />
    </>
  )
}

function QueueList(): JSX.Element {
  const answer = useAnswer<{ queues: readonly { name: string }[] }>('/v1/queues')
  return (
    <Answered answer={answer}>
      {({ queues }) =>
        queues.length === 0 ? (
          <Empty title="No queues." />
        ) : (
          <ul class="queues">
            {queues.map(({ name }) => (
              <li key={name}>
                <a href={linkTo('now', {}, undefined, name)}>
                  <Text text={name} />
                </a>
              </li>
            ))}
          </ul>
        )
      }
    </Answered>
  )
}
