/** Doctor: what is wrong, what may go wrong, what is fine; and who did what lately. */
import type { JSX } from 'preact'
import { Answered } from '../parts/notice.tsx'
import { Name, Text } from '../parts/name.tsx'
import { PageHead } from '../parts/shell.tsx'
import { inQueue } from '../state/api.ts'
import { useAnswer } from '../state/ask.ts'
import { now } from '../state/clock.ts'
import { zone } from '../state/preferences.ts'
import { server } from '../state/session.ts'
import type { AuditLine, ShownFinding } from '../state/wire.ts'
import { ago, count, moment } from '../time/words.ts'

const LEVEL_WORDS = { problem: 'Problem', warning: 'Warning', fine: 'Fine' } as const

export function DoctorPage(): JSX.Element {
  const answer = useAnswer<{ findings: readonly ShownFinding[] }>(inQueue('doctor'))
  const deeds = useAnswer<{ items: readonly AuditLine[] }>('/v1/audit?limit=50')
  const facts = server.value
  return (
    <>
      <PageHead title="Doctor" />
      <Answered answer={answer}>
        {({ findings }) => (
          <ul class="findings">
            {findings.map(({ level, what, remedy }) => (
              <li key={what} class={`finding-${level}`}>
                <strong>{LEVEL_WORDS[level]}</strong>
                <div>
                  <p>{what}</p>
                  {remedy !== undefined && <p class="soft">{remedy}</p>}
                </div>
              </li>
            ))}
          </ul>
        )}
      </Answered>
      {facts !== undefined && (
        <p class="about soft">
          punctual {facts.version}, up for {ago(facts.startedAt, now.value)}
          {facts.storeName !== '' && `, store ${facts.storeName}`}
        </p>
      )}
      <section class="panel" aria-label="What was done">
        <h2>What was done</h2>
        <Answered answer={deeds}>{({ items }) => <Deeds items={items} />}</Answered>
      </section>
    </>
  )
}

function Deeds({ items }: { readonly items: readonly AuditLine[] }): JSX.Element {
  if (items.length === 0)
    return <p class="soft">No operator has changed anything since this server started.</p>
  return (
    <div class="table-box" tabIndex={0} role="region" aria-label="What was done">
      <table>
        <thead>
          <tr>
            <th scope="col">When</th>
            <th scope="col">Who</th>
            <th scope="col">What</th>
            <th scope="col">About</th>
            <th scope="col">Result</th>
          </tr>
        </thead>
        <tbody>
          {items.map(({ at, who, action, about, result, count: n }) => (
            <tr key={`${at} ${action} ${about}`}>
              <td>{moment(at, zone.value)}</td>
              <td>
                <Text text={who} />
              </td>
              <td>{action}</td>
              <td class="payload-cell">
                <code>
                  <Name text={about} />
                </code>
              </td>
              <td>
                {result}
                {n !== undefined && `, ${count(n)}`}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
