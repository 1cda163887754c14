/** The future at full width, from years to a minute. */
import type { JSX } from 'preact'
import { bestRate } from '../charts/bursts.ts'
import { Future } from '../charts/future.tsx'
import { FORECAST_VIEW, pastPath } from '../charts/range.ts'
import { PageHead } from '../parts/shell.tsx'
import { useAnswer } from '../state/ask.ts'
import { now } from '../state/clock.ts'
import { stats } from '../state/live.ts'
import type { PastAnswer } from '../state/wire.ts'

export function ForecastPage(): JSX.Element {
  const past = useAnswer<PastAnswer>(pastPath(now.value), 'once')
  return (
    <>
      <PageHead title="Forecast" />
      <Future
        title="When messages come due"
        height={340}
        view={FORECAST_VIEW}
        perSecond={bestRate(past.value?.rows ?? [], stats.value?.recent)}
      />
    </>
  )
}
