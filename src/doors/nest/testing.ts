/** The queues of an application on memory and on a clock that a test moves. */
import type { DynamicModule } from '@nestjs/common'
import type { Clock } from '../../clock.ts'
import type { PunctualOptions, QueueOptions } from '../../index.ts'
import { VirtualClock } from '../../testing/virtual-clock.ts'
import { TEST_CLOCK } from './tokens.ts'

/**
 * Beside the application's own modules in a test: each queue is on a memory store of its own, whatever `forRoot` says, and
 * time moves only by `app.get(VirtualClock).advance('30m')`.
 */
export class PunctualTestingModule {
  static forRoot(clock: VirtualClock = new VirtualClock()): DynamicModule {
    return {
      module: PunctualTestingModule,
      global: true,
      providers: [
        { provide: TEST_CLOCK, useValue: clock },
        { provide: VirtualClock, useValue: clock },
      ],
      exports: [TEST_CLOCK, VirtualClock],
    }
  }
}

/** Without what the real engine alone understands. */
export function forTest(options: PunctualOptions, clock: Clock): PunctualOptions {
  const kept: { [K in keyof Required<QueueOptions>]: true } = {
    queue: true,
    concurrency: true,
    lease: true,
    fallback: true,
    retry: true,
    timeout: true,
    stopTimeout: true,
    lateAfter: true,
    payloadLimit: true,
    topics: true,
    calendars: true,
    tracing: true,
    logger: true,
    clock: true,
    random: true,
  }
  const own = Object.fromEntries(Object.entries(options).filter(([name]) => name in kept))
  return { ...own, store: 'memory:', clock }
}
