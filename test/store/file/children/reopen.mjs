/** Opens and closes the directory again and again, until `stop` exists. */
import { existsSync } from 'node:fs'
import { args, context, fromBuild, say } from './context.mjs'

const { FileStore } = await fromBuild('store/file/store.js')
for (let opens = 1; !existsSync(args.stop); opens += 1) {
  const store = new FileStore({ directory: args.directory, sync: 'full' }, context)
  await store.open()
  await store.count()
  await store.close()
  if (opens === 1) say('opening')
}
