/** Takes the write lock of the directory and never gives it back. */
import { args, context, fromBuild, say } from './store.mjs'

const { acquireEnvironment } = await fromBuild('store/file/environment.js')
const environment = await acquireEnvironment(args.directory, 'full', context.logger)
await environment.committer.commit(1, () => {
  say('holding')
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
})
