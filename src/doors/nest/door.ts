/** The HTTP door and the dashboard inside of the same application: one line, and all its queues are served. */
import type { DynamicModule, OnApplicationShutdown, OnModuleInit } from '@nestjs/common'
import { DiscoveryModule, DiscoveryService, HttpAdapterHost } from '@nestjs/core'
import { UsageError } from '../../core/errors.ts'
import { serve, type HttpServer, type ServeOptions } from '../http/index.ts'
import { queuesIn } from './queues.ts'

export type NestDoorOptions = Omit<ServeOptions, 'queues' | 'basePath'> & {
  /** Where it is mounted; a global prefix does not count. Default `/punctual`. */
  path?: string
}

export class PunctualDoorModule {
  /** Without `access` and without `tokens` no request is answered. */
  static forRoot(options: NestDoorOptions = {}): DynamicModule {
    return {
      module: PunctualDoorModule,
      imports: [DiscoveryModule],
      providers: [
        {
          provide: 'PunctualDoor',
          inject: [HttpAdapterHost, DiscoveryService],
          useFactory: (host: HttpAdapterHost, discovery: DiscoveryService) =>
            new MountedDoor(host, discovery, options),
        },
      ],
    }
  }
}

class MountedDoor implements OnModuleInit, OnApplicationShutdown {
  readonly #host: HttpAdapterHost
  readonly #discovery: DiscoveryService
  readonly #options: NestDoorOptions
  #server: HttpServer | undefined

  constructor(host: HttpAdapterHost, discovery: DiscoveryService, options: NestDoorOptions) {
    this.#host = host
    this.#discovery = discovery
    this.#options = options
  }

  /** After the middlewares of `main.ts`, on which `access` may rely, and before the route for what is not found. */
  onModuleInit(): void {
    const { path = '/punctual', ...options } = this.#options
    const queues = [...queuesIn(this.#discovery).values()]
    const server = serve({ ...options, queues, basePath: path })
    const { httpAdapter } = this.#host
    if (httpAdapter === undefined)
      throw new UsageError(
        'UNSUPPORTED',
        'PunctualDoorModule needs an HTTP server; this application has none.',
      )
    httpAdapter.use(path, server.listener)
    this.#server = server
  }

  async onApplicationShutdown(): Promise<void> {
    await this.#server?.close()
  }
}
