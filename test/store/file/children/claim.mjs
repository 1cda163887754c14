/** Claims one message and sits on it for ever. */
import { args, claim, say } from './store.mjs'

const { leases } = await claim(1, args.leaseMs)
say(`claimed ${leases[0].id}`)
setInterval(() => {}, 1000)
