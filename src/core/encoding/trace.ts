/**
 * Where a message comes from, as W3C Trace Context says it. It travels in the text that holds the policy of the message, which
 * every engine keeps as it is; versions that do not know it pass it over.
 */
export type TraceOrigin = {
  /** `00-<trace id>-<span id>-<flags>` */
  readonly parent: string
  readonly state?: string
}

const PARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/
/** The longest that everybody must pass on. */
const STATE_LENGTH_MAX = 512

/** Undefined for what is not a trace: a stranger's header costs no message. */
export function parseTrace(parent: unknown, state?: unknown): TraceOrigin | undefined {
  if (typeof parent !== 'string' || !PARENT.test(parent)) return undefined
  const isState = typeof state === 'string' && state !== '' && state.length <= STATE_LENGTH_MAX
  return isState ? { parent, state } : { parent }
}

/** The encoded policy, with the origin in it unless it has one. */
export function addTrace(meta: string, trace: TraceOrigin | undefined): string {
  if (trace === undefined) return meta
  const text = `"trace":${JSON.stringify(trace)}}`
  if (meta === '') return `{${text}`
  return meta.includes('"trace":') ? meta : `${meta.slice(0, -1)},${text}`
}
