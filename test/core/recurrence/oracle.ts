/** What the clock on the wall shows, minute by minute: slow, and without any calendar of its own. */

const MINUTE_MS = 60_000

/** `day`: a text that differs from day to day. `minute`: of the day. */
export type WallTime = { readonly day: string; readonly minute: number }

const clocks = new Map<string, (at: number) => WallTime>()

export function wallClock(zone: string): (at: number) => WallTime {
  const known = clocks.get(zone)
  if (known !== undefined) return known
  const digits = {
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
  } as const
  const format = new Intl.DateTimeFormat('en-GB', { timeZone: zone, hourCycle: 'h23', ...digits })
  const clock = (at: number): WallTime => {
    const [day = '', time = ''] = format.format(at).split(', ')
    const [hour = 0, minute = 0] = time.split(':').map(Number)
    return { day, minute: hour * 60 + minute }
  }
  clocks.set(zone, clock)
  return clock
}

export type Change = { readonly zone: string; readonly at: number; readonly forwardMs: number }

/** Minutes that the wall is ahead of UTC. */
function offsetAt(zone: string, at: number): number {
  const { day, minute } = wallClock(zone)(at)
  const [d = 0, m = 0, y = 0] = day.split('/').map(Number)
  return Date.UTC(y, m - 1, d) / MINUTE_MS + minute - Math.floor(at / MINUTE_MS)
}

export function changesOf(zone: string, from: number, until: number): Change[] {
  const changes: Change[] = []
  const step = 12 * 3_600_000
  for (let at = from; at < until; at += step) {
    const [before, after] = [offsetAt(zone, at), offsetAt(zone, at + step)]
    if (before === after) continue
    let [low, high] = [at, at + step]
    while (high - low > MINUTE_MS) {
      const middle = Math.floor((low + high) / 2 / MINUTE_MS) * MINUTE_MS
      if (offsetAt(zone, middle) === before) low = middle
      else high = middle
    }
    changes.push({ zone, at: high, forwardMs: (after - before) * MINUTE_MS })
  }
  return changes
}

/** Every minute that the wall shows a minute of the hour that the expression names; of the others it names all. */
export function matchesByOracle(cron: string, zone: string, from: number, until: number): number[] {
  const every = cron.startsWith('*/') ? Number(cron.slice(2, cron.indexOf(' '))) : 60
  const clock = wallClock(zone)
  const found: number[] = []
  for (let at = from + MINUTE_MS; at < until; at += MINUTE_MS)
    if ((clock(at).minute % 60) % every === 0) found.push(at)
  return found
}

/** One fixed time of day: once each day, at the first minute of the day that is not before it. */
export function fixedTimeByOracle(zone: string, minute: number, from: number, until: number): number[] {
  const clock = wallClock(zone)
  const found: number[] = []
  const start = from - 2 * 86_400_000
  let { day } = clock(start)
  let isDone = true
  for (let at = start; at < until; at += MINUTE_MS) {
    const wall = clock(at)
    if (wall.day !== day) {
      // The day ended without its time: the clocks have jumped over it, and this is the end of the gap.
      if (!isDone && at > from) found.push(at)
      day = wall.day
      isDone = false
    }
    if (isDone || wall.minute < minute) continue
    isDone = true
    if (at > from) found.push(at)
  }
  return found
}
