/** `punctual/server`: an HTTP door to queues. */
export { HttpServer, serve } from './server.ts'
export type { ListenOptions } from './server.ts'
export type { ServableQueue, ServeOptions } from './options.ts'
export type { AccessAnswer, AccessCheck } from './access/access.ts'
export type { Caller, Scope } from './access/caller.ts'
export type { TokenRecord } from './access/tokens.ts'
export type { FetchHandler } from './shells/fetch.ts'
export type { NodeListener } from './shells/node.ts'
