/**
 * Topics with a schema each (zod here; valibot and arktype work the same way): what does not fit is refused where
 * the mistake is, with nothing stored, and the handler gets the schema's output.
 *
 *   npm run example typed-topics
 */
import { Punctual, UsageError } from 'punctual'
import { z } from 'zod'

const queue = new Punctual({
  store: 'memory:',
  topics: {
    'order.close': z.object({ orderId: z.int().positive() }),
    'mail.send': z.object({ to: z.email(), subject: z.string().default('(no subject)') }),
  },
})

const done = new Promise<void>((resolve) => {
  queue.handle('mail.send', ({ payload: { to, subject } }) => {
    console.log(`to ${to}: ${subject}`) // `subject` is always there: the schema fills it in.
    resolve()
  })
})
await queue.start()

// @ts-expect-error The compiler knows that there is no such topic; so does the queue.
await queue.produce('mail.sned', { to: 'ada@example.org' }).catch(report)
await queue.produce('mail.send', { to: 'no address' }).catch(report)
await queue.produce('mail.send', { to: 'ada@example.org' }, { delay: '100ms' })
await done
await queue.stop()

function report(error: unknown): void {
  if (!(error instanceof UsageError)) throw error
  console.log(`${error.code}: ${error.message}`)
}
