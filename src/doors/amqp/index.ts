/** `punctual/amqp`: the delay that RabbitMQ lacks. See docs/rabbitmq.md. */
export { bridge, Bridge } from './bridge.ts'
export type { BridgeOptions, BridgeRoute } from './options.ts'
export type { BridgeEvent, BridgeSide } from './events.ts'
