/**
 * A name as one segment of the path of an address, and back. Whatever stands between slashes is a name, percent-encoded, but
 * for two that no path can hold: browsers, clients and proxies take `.` and `..` out of it, however they are written.
 *
 *   name      ..     ~..     ~~.     order 42
 *   segment   ~..    ~~..    ~~~.    order%2042
 *
 * Names that end up as dots behind tildes get one tilde more, so that each name has one segment and no two have the same.
 */
const DOTS = /^~*\.\.?$/
const SHIELDED_DOTS = /^~+\.\.?$/

export function segmentOf(name: string): string {
  return DOTS.test(name) ? `~${name}` : encodeURIComponent(name)
}

/** Throws a URIError for what is not percent-encoded UTF-8. */
export function nameOfSegment(segment: string): string {
  const name = segment.includes('%') ? decodeURIComponent(segment) : segment
  return SHIELDED_DOTS.test(name) ? name.slice(1) : name
}
