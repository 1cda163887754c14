/**
 * A queue as a module. Two modules stand behind one call: a global one that holds the queue, so that every module may inject
 * it, and one that runs it, which is not global. Nest stops global modules last: the connections of an ORM are still open
 * while the handlers end.
 */
import type { DynamicModule, FactoryProvider, ModuleMetadata, Provider } from '@nestjs/common'
import { DiscoveryModule, DiscoveryService, ModuleRef } from '@nestjs/core'
import type { Clock } from '../../clock.ts'
import { describe, UsageError } from '../../core/errors.ts'
import { checkRecord } from '../../core/input/checks.ts'
import { Punctual, type PunctualOptions } from '../../index.ts'
import { DEFAULT_QUEUE } from '../../queue/settings.ts'
import { PunctualHealth } from './health.ts'
import { QueueRunner } from './runner.ts'
import { forTest } from './testing.ts'
import { optionsToken, queueToken, TEST_CLOCK } from './tokens.ts'

/** Those of a queue, and what it is to this application. */
export type NestQueueOptions = PunctualOptions & {
  /** `false`: this process only produces, and its handlers do not run. Default `true`: it works where it has handlers. */
  work?: boolean
}

export type NestQueueAsyncOptions = {
  /** The name of the queue, which decorators are tied to before the factory runs. Default `default`. */
  queue?: string
  imports?: ModuleMetadata['imports']
  inject?: FactoryProvider['inject']
  /** Makes the options of the queue, without its name. */
  useFactory: (...injected: never[]) => NestQueueOptions | Promise<NestQueueOptions>
}

const ASYNC_NAMES = ['queue', 'imports', 'inject', 'useFactory'] as const

/** Holds the queue; global. */
class QueueModule {}

/** One call for each queue, in the root module, as the last of its imports: what is imported last stops first. */
export class PunctualModule {
  static forRoot(options: NestQueueOptions = {}): DynamicModule {
    const { queue = DEFAULT_QUEUE } = options
    return moduleOf(queue, { provide: optionsToken(queue), useValue: options }, [])
  }

  static forRootAsync(options: NestQueueAsyncOptions): DynamicModule {
    checkRecord(options, 'options', ASYNC_NAMES)
    const { queue = DEFAULT_QUEUE, imports = [], inject = [], useFactory } = options
    const provider: FactoryProvider = {
      provide: optionsToken(queue),
      inject,
      useFactory: async (...injected: unknown[]) => named(queue, await useFactory(...(injected as never[]))),
    }
    return moduleOf(queue, provider, imports)
  }
}

function named(queue: string, options: NestQueueOptions): NestQueueOptions {
  if (options.queue === undefined || options.queue === queue) return { ...options, queue }
  throw new UsageError(
    'OPTION_INVALID',
    `the factory of the queue "${queue}" answered with queue ${describe(options.queue)}; ` +
      'give the name beside useFactory, where decorators find it.',
    { value: options.queue },
  )
}

function moduleOf(
  queue: string,
  optionsProvider: Provider,
  imports: NonNullable<ModuleMetadata['imports']>,
): DynamicModule {
  const optional = { token: TEST_CLOCK, optional: true }
  const holder: DynamicModule = {
    module: QueueModule,
    global: true,
    imports: [...imports],
    providers: [
      optionsProvider,
      {
        provide: queueToken(queue),
        inject: [optionsToken(queue), optional],
        useFactory: ({ work: _work, ...options }: NestQueueOptions, clock?: Clock) =>
          new Punctual(clock === undefined ? options : forTest(options, clock)),
      },
    ],
    exports: [queueToken(queue), optionsToken(queue)],
  }
  const runner: Provider = {
    provide: `PunctualRunner:${queue}`,
    inject: [queueToken(queue), optionsToken(queue), DiscoveryService, ModuleRef],
    useFactory: (
      made: Punctual,
      { work = true }: NestQueueOptions,
      discovery: DiscoveryService,
      ref: ModuleRef,
    ) => new QueueRunner({ name: queue, queue: made, work, discovery, ref }),
  }
  const health: Provider = {
    provide: PunctualHealth,
    inject: [DiscoveryService],
    useFactory: (discovery: DiscoveryService) => new PunctualHealth(discovery),
  }
  return {
    module: PunctualModule,
    imports: [DiscoveryModule, holder],
    providers: [runner, health],
    exports: [PunctualHealth],
  }
}
