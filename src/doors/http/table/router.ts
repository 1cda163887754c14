/** From a method and a path to a route: by the number of segments, then segment by segment. */
import { CallError } from '../../shared/failure.ts'
import { HttpRefusal } from '../wire/problem.ts'
import type { HttpRoute } from './route.ts'

export type RouteMatch = { readonly route: HttpRoute; readonly params: Readonly<Record<string, string>> }

const PARAMETER = /^\{(\w+)(\*?)\}(.*)$/

/** A segment of a path: this very text, or a parameter. */
type SegmentPattern = { readonly literal: string } | { readonly name: string; readonly isRest: boolean }

type Candidate = { readonly route: HttpRoute; readonly patterns: readonly SegmentPattern[] }

export class Router {
  readonly #byLength = new Map<number, Candidate[]>()
  /** Those that take all that follows. */
  readonly #open: Candidate[] = []

  constructor(routes: readonly HttpRoute[]) {
    for (const route of routes) {
      const patterns = route.segments.map(patternOf)
      const candidate = { route, patterns }
      if (patterns.some((pattern) => 'name' in pattern && pattern.isRest)) this.#open.push(candidate)
      else this.#byLength.set(patterns.length, [...(this.#byLength.get(patterns.length) ?? []), candidate])
    }
  }

  /** Throws ROUTE_UNKNOWN, or METHOD_UNKNOWN with the methods that there are. */
  find(method: string, path: string): RouteMatch {
    const segments = path.split('/').slice(1)
    const allowed: string[] = []
    for (const { route, patterns } of this.#candidates(segments.length)) {
      if (!fits(patterns, segments)) continue
      if (route.method === method) return { route, params: paramsOf(patterns, segments) }
      allowed.push(route.method)
    }
    if (allowed.length === 0) throw new HttpRefusal('ROUTE_UNKNOWN', `there is nothing at ${shown(path)}.`)
    throw new HttpRefusal('METHOD_UNKNOWN', `${shown(path)} takes ${allowed.join(', ')}.`, {
      allow: allowed.join(', '),
    })
  }

  *#candidates(length: number): Iterable<Candidate> {
    yield* this.#byLength.get(length) ?? []
    yield* this.#open
  }
}

function patternOf(segment: string): SegmentPattern {
  const match = PARAMETER.exec(segment)
  return match === null ? { literal: segment } : { name: match[1] ?? '', isRest: match[2] === '*' }
}

function fits(patterns: readonly SegmentPattern[], segments: readonly string[]): boolean {
  for (let i = 0; i < patterns.length; i += 1) {
    const pattern = patterns[i]
    const segment = segments[i]
    if (pattern === undefined || segment === undefined) return false
    if ('literal' in pattern) {
      if (pattern.literal !== segment) return false
    } else if (pattern.isRest) return true
    else if (segment === '') return false
  }
  return segments.length === patterns.length
}

const NO_PARAMS = {}

function paramsOf(patterns: readonly SegmentPattern[], segments: readonly string[]): Record<string, string> {
  let params: Record<string, string> | undefined
  for (const [i, pattern] of patterns.entries()) {
    if ('literal' in pattern) continue
    params ??= {}
    params[pattern.name] = decode(pattern.isRest ? segments.slice(i).join('/') : (segments[i] ?? ''))
  }
  return params ?? NO_PARAMS
}

function decode(segment: string): string {
  if (!segment.includes('%')) return segment
  try {
    return decodeURIComponent(segment)
  } catch {
    throw new CallError('the path is not percent-encoded UTF-8.')
  }
}

const SHOWN_MAX = 200

function shown(path: string): string {
  return path.slice(0, SHOWN_MAX)
}
