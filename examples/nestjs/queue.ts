import { decoratorsFor, type MessageFor } from 'punctual/nest'

/** What this application's queue carries. */
export type Topics = { 'order.close': { orderId: number } }

export const { Handler, InjectQueue } = decoratorsFor<Topics>()
export type CloseOrder = MessageFor<Topics, 'order.close'>
