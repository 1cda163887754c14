/**
 * What JSON would lose without a word: a promise or a map becomes `{}`, NaN and an invalid date become null, a function is
 * left out. The types refuse most of it; a queue without declared topics, and JavaScript, meet it here.
 *
 * A payload is walked after it was written, so there are no cycles. The walk allocates nothing. To cost next to nothing
 * with large payloads too, it goes two levels deep, and further only where the text shows a trace of a loss, `{}` or
 * `null`: so what is not noticed is a function, or an error with fields of its own, deep inside. What has a `toJSON` says
 * itself what becomes of it.
 */
import { describe } from '../errors.ts'

/** What is lost, and where: `field` is as one would write it, such as `payload.items[2].price`. */
export type PayloadLoss = { readonly field: string; readonly what: string; readonly remedy: string }

type Found = { path: string; readonly value: unknown }

/** The payload's own fields, and those of the objects in them. */
const DEPTH_ALWAYS = 2
/** Deeper than any message is by intent. */
const DEPTH_MAX = 32

/** By the name that `Object.prototype.toString` gives, which is the same for objects of another realm. */
const REMEDIES: ReadonlyMap<string, string> = new Map([
  ['Promise', 'await it first'],
  ['Map', 'give Object.fromEntries(map), or a list of pairs'],
  ['Set', 'give a list: [...set]'],
  ['Error', 'give its message as a text'],
  ['DOMException', 'give its message as a text'],
  ['RegExp', 'give its source as a text'],
  ['ArrayBuffer', 'give it as base64'],
  ['SharedArrayBuffer', 'give it as base64'],
  ['DataView', 'give it as base64'],
  ...['Headers', 'FormData', 'URLSearchParams', 'Blob', 'File', 'Request', 'Response'].map(named),
  ...['WeakMap', 'WeakSet', 'WeakRef', 'Generator', 'AsyncGenerator', 'Map Iterator', 'Set Iterator'].map(
    named,
  ),
])

function named(name: string): [string, string] {
  return [name, 'give plain data']
}

/** What is written: a payload, or what a handler returned. */
export type WrittenName = 'payload' | 'result'

/** The first thing in the payload that would not arrive. `body`: what was written of it, if it could be. */
export function findLoss(
  payload: unknown,
  body: string | undefined,
  name: WrittenName,
): PayloadLoss | undefined {
  try {
    const isDeep = body === undefined || body.includes('{}') || body.includes('null')
    const found = look(payload, isDeep ? DEPTH_MAX : DEPTH_ALWAYS)
    return found === undefined ? undefined : lossOf(found, name)
  } catch {
    return undefined // A getter or a proxy that throws only when it is asked again.
  }
}

function lossOf({ path, value }: Found, name: WrittenName): PayloadLoss {
  const field = `${name}${path}`
  switch (typeof value) {
    case 'number':
      return { field, what: String(value), remedy: 'give a finite number, or null' }
    case 'function':
    case 'symbol':
      return { field, what: `a ${typeof value}`, remedy: 'leave it out' }
    case 'bigint':
      return { field, what: 'a bigint', remedy: 'give it as a text or a number' }
    default:
      return objectLoss(field, value)
  }
}

function objectLoss(field: string, value: unknown): PayloadLoss {
  if (value instanceof Date) return { field, what: 'an invalid date', remedy: 'give a valid one, or null' }
  const name = nameOf(value)
  const remedy = ArrayBuffer.isView(value) ? 'give it as base64' : REMEDIES.get(name)
  if (remedy === undefined) return { field, what: 'a promise', remedy: 'await it first' }
  return { field, what: `${/^[AE]/.test(name) ? 'an' : 'a'} ${name}`, remedy }
}

/** `levels`: how many more to go down. */
function look(value: unknown, levels: number): Found | undefined {
  switch (typeof value) {
    case 'number':
      return Number.isFinite(value) ? undefined : { path: '', value }
    case 'function':
    case 'symbol':
    case 'bigint':
      return { path: '', value }
    case 'object':
      return value === null ? undefined : lookInto(value, levels)
    default:
      return undefined
  }
}

function lookInto(value: object, levels: number): Found | undefined {
  if (Array.isArray(value)) return lookIntoList(value, levels)
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) {
    if ('toJSON' in value && typeof value.toJSON === 'function')
      return value instanceof Date && Number.isNaN(value.getTime()) ? { path: '', value } : undefined
    if (REMEDIES.has(nameOf(value)) || ArrayBuffer.isView(value)) return { path: '', value }
    if ('then' in value && typeof value.then === 'function') return { path: '', value }
  }
  return lookIntoRecord(value as Readonly<Record<string, unknown>>, levels)
}

function lookIntoList(list: readonly unknown[], levels: number): Found | undefined {
  if (levels === 0) return undefined
  for (let index = 0; index < list.length; index += 1) {
    const found = look(list[index], levels - 1)
    if (found !== undefined) return { ...found, path: `[${index}]${found.path}` }
  }
  return undefined
}

function lookIntoRecord(record: Readonly<Record<string, unknown>>, levels: number): Found | undefined {
  if (levels === 0) return undefined
  for (const key in record) {
    const found = look(record[key], levels - 1)
    if (found === undefined || !Object.hasOwn(record, key)) continue
    if (typeof record.toJSON === 'function') return undefined
    // An object with a `then` of its own is a promise of another library, which is more to the point.
    if (key === 'then' && typeof record[key] === 'function') return { path: '', value: record }
    return { ...found, path: step(key) + found.path }
  }
  return undefined
}

function step(key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${describe(key)}]`
}

function nameOf(value: unknown): string {
  return Object.prototype.toString.call(value).slice(8, -1)
}

/** Where an object holds itself: only for a payload that could not be written. Looks at so many values, then no further. */
export function findCycle(payload: unknown, name: WrittenName): string | undefined {
  let left = 10_000
  const walk = (value: unknown, above: readonly unknown[]): string | undefined => {
    left -= 1
    if (typeof value !== 'object' || value === null || left < 0) return undefined
    if (above.includes(value)) return ''
    for (const [key, part] of Object.entries(value)) {
      const path = walk(part, [...above, value])
      if (path !== undefined) return (Array.isArray(value) ? `[${key}]` : step(key)) + path
    }
    return undefined
  }
  try {
    const path = walk(payload, [])
    return path === undefined ? undefined : `${name}${path}`
  } catch {
    return undefined // A getter or a proxy that throws: the error that is told is that of the writing.
  }
}
