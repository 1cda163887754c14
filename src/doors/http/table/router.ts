/** From a method and a path to a route: by the method and the number of segments, then segment by segment. */
import { nameOfSegment } from '../../../core/encoding/segment.ts'
import { CallError } from '../../shared/failure.ts'
import { HttpRefusal } from '../wire/problem.ts'
import type { HttpRoute } from './route.ts'

export type RouteMatch = { readonly route: HttpRoute; readonly params: Readonly<Record<string, string>> }

const PARAMETER = /^\{(\w+)(\*?)\}(.*)$/

/** A segment of a path: this very text, or a parameter. */
type SegmentPattern = { readonly literal: string } | { readonly name: string; readonly isRest: boolean }

type Candidate = { readonly route: HttpRoute; readonly patterns: readonly SegmentPattern[] }

export class Router {
  readonly #all: readonly Candidate[]
  /** By the method, then by the number of segments. Those that take all that follows stand at none. */
  readonly #byMethod = new Map<string, Candidate[][]>()

  constructor(routes: readonly HttpRoute[]) {
    this.#all = routes.map((route) => ({ route, patterns: route.segments.map(patternOf) }))
    for (const candidate of this.#all) {
      const { route, patterns } = candidate
      const isOpen = patterns.some((pattern) => 'name' in pattern && pattern.isRest)
      const byLength = this.#byMethod.get(route.method) ?? []
      ;(byLength[isOpen ? 0 : patterns.length] ??= []).push(candidate)
      this.#byMethod.set(route.method, byLength)
    }
  }

  /** Throws ROUTE_UNKNOWN, or METHOD_UNKNOWN with the methods that there are. */
  find(method: string, path: string): RouteMatch {
    const segments = path.split('/')
    const byLength = this.#byMethod.get(method) ?? []
    const match = matchIn(byLength[segments.length - 1], segments) ?? matchIn(byLength[0], segments)
    if (match !== undefined) return match
    const allowed = this.#all
      .filter(({ patterns }) => fits(patterns, segments))
      .map(({ route }) => route.method)
    if (allowed.length === 0) throw new HttpRefusal('ROUTE_UNKNOWN', `there is nothing at ${shown(path)}.`)
    throw new HttpRefusal('METHOD_UNKNOWN', `${shown(path)} takes ${allowed.join(', ')}.`, {
      allow: allowed.join(', '),
    })
  }
}

function matchIn(
  candidates: readonly Candidate[] | undefined,
  segments: readonly string[],
): RouteMatch | undefined {
  const found = candidates?.find(({ patterns }) => fits(patterns, segments))
  return found && { route: found.route, params: paramsOf(found.patterns, segments) }
}

function patternOf(segment: string): SegmentPattern {
  const match = PARAMETER.exec(segment)
  return match === null ? { literal: segment } : { name: match[1] ?? '', isRest: match[2] === '*' }
}

/** What stands before the first slash is no segment. */
function fits(patterns: readonly SegmentPattern[], segments: readonly string[]): boolean {
  for (let i = 0; i < patterns.length; i += 1) {
    const pattern = patterns[i]
    const segment = segments[i + 1]
    if (pattern === undefined || segment === undefined) return false
    if ('literal' in pattern) {
      if (pattern.literal !== segment) return false
    } else if (pattern.isRest) return true
    else if (segment === '') return false
  }
  return segments.length === patterns.length + 1
}

const NO_PARAMS = {}

function paramsOf(patterns: readonly SegmentPattern[], segments: readonly string[]): Record<string, string> {
  let params: Record<string, string> | undefined
  for (const [i, pattern] of patterns.entries()) {
    if ('literal' in pattern) continue
    params ??= {}
    params[pattern.name] = decode(pattern.isRest ? segments.slice(i + 1).join('/') : (segments[i + 1] ?? ''))
  }
  return params ?? NO_PARAMS
}

function decode(segment: string): string {
  try {
    return nameOfSegment(segment)
  } catch {
    throw new CallError('the path is not percent-encoded UTF-8.')
  }
}

const SHOWN_MAX = 200

function shown(path: string): string {
  return path.slice(0, SHOWN_MAX)
}
