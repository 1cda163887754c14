import { describeCrowds } from './crowd.ts'
import type { SharedEngine } from './engines.ts'

const SIZES: Readonly<Record<SharedEngine['name'], readonly [workers: number, perProducer: number]>> = {
  redis: [8, 6_667],
  postgres: [6, 3_000],
  mysql: [8, 1_000],
  file: [4, 2_000],
}

describeCrowds((name) => {
  const [workers, perProducer] = SIZES[name]
  return { workers, perProducer }
})
