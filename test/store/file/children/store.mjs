/** For child programs that work on a store: the store, open, and a few words to speak to it with. */
import { args, context, fromBuild } from './context.mjs'

export { args, context, fromBuild, say } from './context.mjs'

const { FileStore } = await fromBuild('store/file/store.js')

export const store = new FileStore({ directory: args.directory, sync: args.sync ?? 'full' }, context)
await store.open()

export const message = (id, fields = {}) => ({
  id,
  topic: 'order.close',
  body: JSON.stringify({ id }),
  meta: '',
  priority: 1,
  when: { delayMs: 0 },
  ifExists: 'keep',
  ...fields,
})

export const claim = (limit, leaseMs = 30_000) =>
  store.claim({
    from: 'due',
    owner: 'test',
    bytesMax: 2 ** 30,
    wants: [{ topic: 'order.close', limit }],
    limit,
    leaseMs,
    leadMs: 0,
  })

export const ref = ({ id, token, topic }) => ({ id, token, topic })
