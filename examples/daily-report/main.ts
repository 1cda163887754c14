/** Every morning at nine in Berlin, over the night in which clocks change: three days in a blink, on the virtual clock. */
import { Punctual } from 'punctual'
import { VirtualClock } from 'punctual/testing'

type Topics = { report: { kind: string }; 'report.archive': { day: string } }

const clock = new VirtualClock(Date.UTC(2026, 2, 27))
const queue = new Punctual<Topics>({ store: 'memory:', clock })

const berlin = new Intl.DateTimeFormat('en-GB', {
  timeZone: 'Europe/Berlin',
  weekday: 'short',
  hour: '2-digit',
  minute: '2-digit',
  timeZoneName: 'short',
})

queue.handle('report', async ({ dueAt, followUp }) => {
  console.log(`report on ${berlin.format(dueAt)} = ${new Date(dueAt).toISOString().slice(11, 16)} UTC`)
  // Stored if and only if the report was made.
  await followUp('report.archive', { day: new Date(dueAt).toISOString().slice(0, 10) }, { delay: '1h' })
})
queue.handle('report.archive', ({ payload }) => console.log(`  archived ${payload.day}`))

await queue.schedules.set('daily-report', {
  topic: 'report',
  payload: { kind: 'daily' },
  cron: '0 9 * * *',
  zone: 'Europe/Berlin',
})
await queue.start()
await clock.advance('4d')
const [schedule] = (await queue.schedules.list()).items
console.log(`fired ${schedule?.fired}, skipped ${schedule?.skipped}`)
await queue.stop({ timeout: 0 })
