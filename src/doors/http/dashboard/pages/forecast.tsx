/** The future at full width, from years to a minute. */
import type { JSX } from 'preact'
import { bestRate } from '../charts/bursts.ts'
import { Future } from '../charts/future.tsx'
import { PageHead } from '../parts/shell.tsx'
import { inQueue } from '../state/api.ts'
import { useAnswer } from '../state/ask.ts'
import { now } from '../state/clock.ts'
import { stats } from '../state/live.ts'
import type { PastAnswer } from '../state/wire.ts'

export function ForecastPage(): JSX.Element {
  const hour = Math.floor(now.value / 3_600_000) * 3_600_000
  const past = useAnswer<PastAnswer>(
    `${inQueue('figures')}?from=${hour - 23 * 3_600_000}&until=${hour + 3_600_000}&step=1h`,
    'once',
  )
  return (
    <>
      <PageHead title="Forecast" />
      <Future
        title="When messages come due"
        height={340}
        barsMax={240}
        fallback="7d"
        perSecond={bestRate(past.value?.rows ?? [], stats.value?.recent)}
      />
    </>
  )
}
