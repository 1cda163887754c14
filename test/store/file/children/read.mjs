/** Stays in the middle of a read for ever: its snapshot is registered, and only its death can end it. */
import { say, store } from './store.mjs'

await store.count()
say('reading')
Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
