/** What a tool is: what an agent reads of it, the arguments it takes, and what it does. */
import type { Punctual } from '../../index.ts'
import type { Shape } from '../http/schema/schema.ts'

/** `looks` changes nothing; `acts` is offered only where it was allowed by name. */
export type ToolKind = 'looks' | 'acts'

export type Tool<Given = never> = {
  readonly name: string
  readonly kind: ToolKind
  readonly about: string
  readonly takes: Shape<Given>
  readonly run: (queue: Punctual, given: Given) => Promise<unknown>
  /**
   * Of a tool that may touch many messages: what this call would do, or undefined where it is about one. The call is done only
   * when it comes again with the word that goes with this answer.
   */
  readonly rehearse?: (queue: Punctual, given: Given) => Promise<object | undefined>
}

/** With the type of its arguments forgotten: they are checked by the shape that it was declared with. */
export function defineTool<Given>(tool: Tool<Given>): Tool {
  return tool as unknown as Tool
}
