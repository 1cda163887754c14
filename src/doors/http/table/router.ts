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
  /** By the number of segments. */
  readonly #byLength: Candidate[][] = []
  /** Those that take all that follows. */
  readonly #open: Candidate[] = []

  constructor(routes: readonly HttpRoute[]) {
    for (const route of routes) {
      const patterns = route.segments.map(patternOf)
      const candidate = { route, patterns }
      if (patterns.some((pattern) => 'name' in pattern && pattern.isRest)) this.#open.push(candidate)
      else (this.#byLength[patterns.length] ??= []).push(candidate)
    }
  }

  /** Throws ROUTE_UNKNOWN, or METHOD_UNKNOWN with the methods that there are. */
  find(method: string, path: string): RouteMatch {
    const segments = path.split('/')
    const candidates = this.#byLength[segments.length - 1] ?? NO_CANDIDATES
    const match = matchIn(candidates, method, segments) ?? matchIn(this.#open, method, segments)
    if (match !== undefined) return match
    const allowed = [...candidates, ...this.#open]
      .filter(({ patterns }) => fits(patterns, segments))
      .map(({ route }) => route.method)
    if (allowed.length === 0) throw new HttpRefusal('ROUTE_UNKNOWN', `there is nothing at ${shown(path)}.`)
    throw new HttpRefusal('METHOD_UNKNOWN', `${shown(path)} takes ${allowed.join(', ')}.`, {
      allow: allowed.join(', '),
    })
  }
}

const NO_CANDIDATES: readonly Candidate[] = []

function matchIn(
  candidates: readonly Candidate[],
  method: string,
  segments: readonly string[],
): RouteMatch | undefined {
  for (const { route, patterns } of candidates)
    if (route.method === method && fits(patterns, segments))
      return { route, params: paramsOf(patterns, segments) }
  return undefined
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
