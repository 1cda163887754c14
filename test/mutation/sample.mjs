// A small generator of chance that always gives the same for the same words, so that a sample can be drawn again.
export function sampler(words) {
  let state = 0x811c9dc5
  for (const character of words) state = Math.imul(state ^ character.codePointAt(0), 0x01000193) >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
