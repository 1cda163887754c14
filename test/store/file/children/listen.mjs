/** Says when it was woken. */
import { claim, say, store } from './store.mjs'

store.onWake(() => say('woken'))
await claim(1)
say('listening')
setInterval(() => {}, 1000)
