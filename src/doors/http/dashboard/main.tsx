/** The dashboard: which page the address names, inside the frame. */
import { render, type JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { startAskingAhead } from './pages/ahead.ts'
import { DeadPage } from './pages/dead.tsx'
import { DoctorPage } from './pages/doctor.tsx'
import { BarredPage, BlindPage, LoginPage, QueuesPage, UnreachablePage } from './pages/entry.tsx'
import { ForecastPage } from './pages/forecast.tsx'
import { MessagePage } from './pages/message/message.tsx'
import { MessagesPage } from './pages/messages/messages.tsx'
import { NowPage } from './pages/now.tsx'
import { SchedulesPage } from './pages/schedules.tsx'
import { TopicKeysPage } from './pages/topics/keys.tsx'
import { TopicsPage } from './pages/topics/topics.tsx'
import { WorkersPage } from './pages/workers.tsx'
import { KeysDialog, startKeys } from './parts/keys.tsx'
import { Empty } from './parts/notice.tsx'
import { Shell } from './parts/shell.tsx'
import { linkTo, place, startRouting, type PageName } from './state/address.ts'
import { startClock } from './state/clock.ts'
import { link, startListening, watchVisibility } from './state/live.ts'
import { startTheme } from './state/preferences.ts'
import { mayLook, openSession, session } from './state/session.ts'

const PAGE_VIEWS: Readonly<Record<Exclude<PageName, 'messages'>, () => JSX.Element>> = {
  now: NowPage,
  forecast: ForecastPage,
  dead: DeadPage,
  workers: WorkersPage,
  topics: TopicsPage,
  schedules: SchedulesPage,
  doctor: DoctorPage,
}

function App(): JSX.Element | null {
  const state = session.value
  const { queue, page, about } = place.value
  useEffect(() => {
    document.title = [about, page === undefined || queue === undefined ? '' : page, queue, 'punctual']
      .filter((part) => part !== undefined && part !== '')
      .join(' · ')
  }, [queue, page, about])
  if (state.kind === 'asking') return null
  if (state.kind === 'out') return <LoginPage trouble={state.trouble} />
  if (state.kind === 'unreachable') return <UnreachablePage trouble={state.trouble} />
  if (!mayLook()) return <BlindPage viewer={state.viewer} />
  return (
    <Shell>
      <Page key={`${queue ?? ''}/${page ?? ''}/${about ?? ''}`} />
      <KeysDialog />
    </Shell>
  )
}

function Page(): JSX.Element {
  const { queue, page, about } = place.value
  if (queue === undefined) return <QueuesPage />
  if (link.value.kind === 'barred') return <BarredPage trouble={link.value.trouble} />
  if (page === undefined) {
    return (
      <Empty title="There is no such page.">
        <p>
          <a href={linkTo('now')}>Now</a>
        </p>
      </Empty>
    )
  }
  if (page === 'messages') return about === undefined ? <MessagesPage /> : <MessagePage id={about} />
  if (page === 'topics' && about !== undefined) return <TopicKeysPage topic={about} />
  const View = PAGE_VIEWS[page]
  return <View />
}

startTheme()
startClock()
startRouting()
startKeys()
startAskingAhead()
startListening()
watchVisibility()
void openSession()
const root = document.getElementById('app')
if (root !== null) render(<App />, root)
