/** `punctual/nest` on the source and the newest Nest: what an application says, and what becomes of it. */
import 'reflect-metadata'
import { Inject, Injectable, Scope, type DynamicModule, type INestApplicationContext } from '@nestjs/common'
import { NestFactory, REQUEST } from '@nestjs/core'
import { describe, expect, expectTypeOf, it, onTestFinished } from 'vitest'
import type { Message, Punctual } from '../../../src/index.ts'
import {
  decoratorsFor,
  Handler as AnyHandler,
  InjectQueue as InjectAny,
  PunctualHealth,
  PunctualModule,
  PunctualTestingModule,
  queueToken,
  type MessageFor,
} from '../../../src/doors/nest/index.ts'
import { VirtualClock } from '../../../src/testing/index.ts'

type Topics = { 'order.close': { orderId: number }; tick: undefined }
type Mails = { send: { to: string } }

const { Handler, InjectQueue } = decoratorsFor<Topics>()
const mails = decoratorsFor<Mails>('mail')

type Parts = {
  readonly imports?: NonNullable<DynamicModule['imports']>
  readonly providers: NonNullable<DynamicModule['providers']>
}

class Root {}

async function application({ imports, providers }: Parts): Promise<INestApplicationContext> {
  const root: DynamicModule = {
    module: Root,
    imports: imports ?? [PunctualTestingModule.forRoot(), PunctualModule.forRoot({ logger: false })],
    providers,
  }
  const app = await NestFactory.createApplicationContext(root, { logger: false, abortOnError: false })
  onTestFinished(() => app.close())
  return app
}

describe('a provider', () => {
  @Injectable()
  class Book {
    readonly lines: string[] = []
  }

  @Injectable()
  class Orders {
    @Inject(Book) readonly book!: Book
    @InjectQueue() readonly queue!: Punctual<Topics>

    @Handler('order.close', { concurrency: 10 })
    close({ payload, attempt }: MessageFor<Topics, 'order.close'>): void {
      this.book.lines.push(`close ${payload.orderId}, attempt ${attempt}`)
      if (attempt === 1) throw new Error('once more')
    }
  }

  it('its method is called with each message of the topic at its moment, and has what was injected', async () => {
    const app = await application({ providers: [Book, Orders] })
    const clock = app.get(VirtualClock)
    await app.get(Orders).queue.produce('order.close', { orderId: 42 }, { delay: '30m' })
    await clock.advance('29m')
    expect(app.get(Book).lines).toEqual([])
    await clock.advance('2m')
    expect(app.get(Book).lines).toEqual(['close 42, attempt 1', 'close 42, attempt 2'])
  })

  it('that extends another inherits its handlers; one that is overridden is called once', async () => {
    @Injectable()
    class Special extends Orders {
      @Handler('order.close')
      override close({ payload }: MessageFor<Topics, 'order.close'>): void {
        this.book.lines.push(`special ${payload.orderId}`)
      }
    }
    const app = await application({ providers: [Book, Special] })
    await app.get(Special).queue.produce('order.close', { orderId: 1 })
    await app.get(VirtualClock).advance('1s')
    expect(app.get(Book).lines).toEqual(['special 1'])
  })

  it('of the scope of a request is made for each message, which it may inject', async () => {
    const made: string[] = []
    @Injectable({ scope: Scope.REQUEST })
    class PerMessage {
      @Inject(REQUEST) readonly message!: Message
      @Inject(Book) readonly book!: Book

      @AnyHandler('order.close')
      close(): void {
        made.push(this.message.id)
        this.book.lines.push(this.message.id)
      }
    }
    const app = await application({ providers: [Book, PerMessage] })
    const queue = app.get<Punctual>(queueToken())
    await queue.produce('order.close', null, { id: 'a' })
    await queue.produce('order.close', null, { id: 'b' })
    await app.get(VirtualClock).advance('1s')
    expect(made.toSorted()).toEqual(['a', 'b'])
  })

  it('a decorator that wraps the method is not passed by', async () => {
    const calls: string[] = []
    const wrapped = (_target: object, _name: string, descriptor: PropertyDescriptor): void => {
      const inner = descriptor.value as () => void
      descriptor.value = function (this: unknown, ...given: []) {
        calls.push('before')
        return inner.apply(this, given)
      }
    }
    @Injectable()
    class Wrapped {
      @wrapped
      @Handler('tick')
      tick(): void {
        calls.push('tick')
      }
    }
    const app = await application({ providers: [Wrapped] })
    await app.get<Punctual<Topics>>(queueToken()).produce('tick')
    await app.get(VirtualClock).advance('1s')
    expect(calls).toEqual(['before', 'tick'])
  })
})

describe('queues', () => {
  @Injectable()
  class Mailer {
    readonly sent: string[] = []
    @mails.InjectQueue() readonly mail!: Punctual<Mails>
    @InjectAny() readonly orders!: Punctual

    @mails.Handler('send')
    send({ payload }: MessageFor<Mails, 'send'>): void {
      this.sent.push(payload.to)
    }
  }

  it('several: each has its name, its options and its handlers', async () => {
    const app = await application({
      imports: [
        PunctualTestingModule.forRoot(),
        PunctualModule.forRoot({ payloadLimit: 10 }),
        PunctualModule.forRootAsync({
          queue: 'mail',
          inject: ['TO'],
          useFactory: async (limit: number) => ({ payloadLimit: limit }),
          imports: [
            { module: class Config {}, providers: [{ provide: 'TO', useValue: 100 }], exports: ['TO'] },
          ],
        }),
      ],
      providers: [Mailer],
    })
    const mailer = app.get(Mailer)
    await mailer.mail.produce('send', { to: 'ada@example.org' })
    await app.get(VirtualClock).advance('1s')
    expect(mailer.sent).toEqual(['ada@example.org'])
    await expect(mailer.orders.produce('t', 'longer than ten')).rejects.toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
    })
  })

  it('a handler for a queue that the application does not have is refused at the start, by name', async () => {
    await expect(
      application({ providers: [Mailer, { provide: queueToken('mail'), useValue: 0 }] }),
    ).rejects.toMatchObject({
      code: 'HANDLER_INVALID',
      message: expect.stringContaining('Mailer.send handles "send" of a queue "mail"'),
    })
  })

  it('a factory that answers with another name is refused', async () => {
    const imports = [
      PunctualModule.forRootAsync({ queue: 'a', useFactory: () => ({ queue: 'b', store: 'memory:' }) }),
    ]
    await expect(application({ imports, providers: [] })).rejects.toMatchObject({
      code: 'OPTION_INVALID',
      value: 'b',
    })
  })

  it('work: false: the process produces, and its handlers do not run', async () => {
    const app = await application({
      imports: [
        PunctualTestingModule.forRoot(),
        PunctualModule.forRoot({ queue: 'mail', work: false }),
        PunctualModule.forRoot(),
      ],
      providers: [Mailer],
    })
    const mailer = app.get(Mailer)
    await mailer.mail.produce('send', { to: 'ada@example.org' })
    await app.get(VirtualClock).advance('1h')
    expect(mailer.sent).toEqual([])
    expect((await mailer.mail.stats()).counts.ready).toBe(1)
  })
})

describe('the life of the application', () => {
  it('at its end a handler that runs may finish, with what a global module closes at the end', async () => {
    const told: string[] = []
    class Connection {
      isOpen = true
      onApplicationShutdown(): void {
        this.isOpen = false
      }
    }
    @Injectable()
    class Slow {
      @Inject(Connection) readonly connection!: Connection
      @Handler('tick')
      async tick(): Promise<void> {
        told.push('begun')
        await new Promise((resolve) => setTimeout(resolve, 100))
        told.push(this.connection.isOpen ? 'done with a connection' : 'done without')
      }
    }
    const app = await application({
      imports: [
        PunctualModule.forRoot({ store: 'memory:' }),
        { module: class Database {}, global: true, providers: [Connection], exports: [Connection] },
      ],
      providers: [Slow],
    })
    const queue = app.get<Punctual<Topics>>(queueToken())
    await queue.produce('tick')
    await expect.poll(() => told).toEqual(['begun'])
    await app.close()
    expect(told).toEqual(['begun', 'done with a connection'])
    await expect(queue.produce('tick')).rejects.toMatchObject({ code: 'QUEUE_STOPPED' })
  })

  it('health: up, and down with the code of what is wrong', async () => {
    const up = await application({ providers: [] })
    expect(await up.get(PunctualHealth).check()).toEqual({
      punctual: { status: 'up', queues: { default: 'up' } },
    })
    const away = await application({
      imports: [PunctualModule.forRoot({ store: 'redis://127.0.0.1:1?callTimeout=1s', logger: false })],
      providers: [],
    })
    expect(await away.get(PunctualHealth).check('queue')).toEqual({
      queue: { status: 'down', queues: { default: 'STORE_UNAVAILABLE' } },
    })
  })
})

it('types: a topic that does not exist and a payload of another form do not compile', () => {
  class Wrong {
    // @ts-expect-error: no such topic
    @Handler('order.open')
    open(): void {}

    // @ts-expect-error: a payload of another form
    @Handler('order.close')
    close(_message: Message<string>): void {}

    // @ts-expect-error: more than the topic has
    @Handler('order.close')
    more(_message: Message<{ orderId: number; more: string }>): void {}

    @Handler('order.close')
    less(_message: { payload: object }): void {}

    // @ts-expect-error: no such option
    @Handler('tick', { concurency: 1 })
    tick(): void {}
  }
  expectTypeOf<MessageFor<Topics, 'order.close'>['payload']>().toEqualTypeOf<{ orderId: number }>()
  expect(Wrong.name).toBe('Wrong')
})
