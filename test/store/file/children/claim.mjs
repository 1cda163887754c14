/** Claims one message and sits on it for ever. */
import { args, claim, say } from './store.mjs'

let leases = []
while (leases.length === 0) leases = (await claim(1, args.leaseMs)).leases
say(`claimed ${leases[0].id}`)
setInterval(() => {}, 1000)
