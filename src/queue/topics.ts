/**
 * The types that tie a payload to its topic. A queue knows its topics in one of two ways: from a type that the user
 * gives (`new Punctual<Topics>()`), or from schemas (`new Punctual({ topics: { ... } })`); else any text is a topic.
 */
import type { PayloadField, Received, Sendable } from '../core/input/payload.ts'
import type { ProduceOptions } from '../core/input/request.ts'
import type { SchemaInput, SchemaOutput, TopicSchemas } from '../core/input/schema.ts'

export type AnyTopics = Record<string, unknown>
/** No schemas: what `keyof` finds nothing in. */
export type NoSchemas = { readonly [topic in never]: never }

export type TopicName<T, S> = [keyof S] extends [never] ? keyof T & string : keyof S & string

/** What `produce` takes. */
export type PayloadIn<T, S, K> = K extends keyof S
  ? SchemaInput<S[K]>
  : K extends keyof T
    ? Sendable<T[K]>
    : never

/** What the handler gets: from JSON, or from the schema that has read it. */
export type PayloadOut<T, S, K> = K extends keyof S
  ? SchemaOutput<S[K]>
  : K extends keyof T
    ? Received<T[K]>
    : never

/** Every topic with what `produce` takes for it. */
export type PayloadsIn<T, S> = { [K in TopicName<T, S>]: PayloadIn<T, S, K> }

/** One of many for `produceMany`. */
export type ProduceEntry<Topic extends string, Payload> = ProduceOptions & {
  topic: Topic
} & PayloadField<Payload>

export type { TopicSchemas }
