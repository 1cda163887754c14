/** The future at full width, from years to a minute. */
import type { JSX } from 'preact'
import { Future } from '../charts/future.tsx'
import { FORECAST_VIEW } from '../charts/range.ts'
import { PageHead } from '../parts/shell.tsx'
import { useCapacity } from './worker-list.ts'

export function ForecastPage(): JSX.Element {
  const capacity = useCapacity()
  return (
    <>
      <PageHead title="Forecast" />
      <Future title="When messages come due" height={340} view={FORECAST_VIEW} perSecond={capacity} />
    </>
  )
}
