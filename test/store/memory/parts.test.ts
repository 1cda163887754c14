/**
 * The memory engine's parts alone, each beside a model that is too simple to be wrong: what the conformance suite cannot
 * reach without thousands of messages in the right order.
 */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { NewMessage } from '../../../src/store/contract/store.ts'
import { forecast } from '../../../src/store/memory/counting.ts'
import { inspect } from '../../../src/store/memory/inspection.ts'
import { Leases } from '../../../src/store/memory/leases.ts'
import { ReadyLine } from '../../../src/store/memory/line.ts'
import { Messages } from '../../../src/store/memory/messages.ts'
import { RememberedIds, type RememberedMessage } from '../../../src/store/memory/remembered.ts'
import { TagIndex } from '../../../src/store/memory/tags.ts'

const SEED = { seed: 20_261_118 }
const START = Date.UTC(2030, 0, 1)

function message(id: string, more: Partial<NewMessage> = {}): NewMessage {
  return { id, topic: 't', body: '', meta: '', priority: 1, when: { delayMs: 0 }, ifExists: 'keep', ...more }
}

function terms(endsAt: number): { since: number; endsAt: number; isTakenOver: boolean } {
  return { since: 0, endsAt, isTakenOver: false }
}

function idsIn(ids: RememberedIds, from = 0): string[] {
  return [...ids.from(from)].map((kept) => kept.message.id)
}

function messagesWith(id: string): Messages {
  const messages = new Messages(START)
  messages.put(message(id), START)
  return messages
}

function remembered(id: string, until: number): RememberedMessage {
  const [found] = inspect(messagesWith(id), { ids: [id] }, START).items
  if (found === undefined) throw new Error('unreachable')
  return { ...found, state: 'completed', until }
}

type Tagged = { readonly slot: number; readonly order: number }

function checkTags(index: TagIndex, model: readonly Tagged[], from: number): void {
  const expected = model.filter(({ order }) => order >= from).map(({ slot, order }) => [slot, order])
  expect([...index.slots('red', from)]).toEqual(expected)
}

describe('tags', () => {
  it('a list is what came and did not leave, in order, from any order on', () => {
    const step = fc.record({ leaves: fc.boolean(), which: fc.nat(), gap: fc.integer({ min: 1, max: 3 }) })
    fc.assert(
      fc.property(fc.array(step, { minLength: 100, maxLength: 400 }), fc.nat(), (steps, from) => {
        const index = new TagIndex()
        let model: readonly Tagged[] = []
        let order = 0
        for (const { leaves, which, gap } of steps) {
          const gone = leaves ? model[which % Math.max(1, model.length)] : undefined
          if (gone === undefined) {
            order += gap
            index.add(['red', 'blue'], order * 7, order)
            model = [...model, { slot: order * 7, order }]
          } else {
            index.remove(['red'], gone.order)
            model = model.filter((one) => one !== gone)
          }
        }
        checkTags(index, model, 0)
        checkTags(index, model, from % (order + 2))
      }),
      { ...SEED, numRuns: 50 },
    )
  })

  it.each([40, 64, 65, 66, 100])('of %i, each may leave: the others stay to be found', (count) => {
    for (const forward of [true, false]) {
      const index = new TagIndex()
      let model = Array.from({ length: count }, (_, i) => ({ slot: i, order: i + 1 }))
      for (const { slot, order } of model) index.add(['red'], slot, order)
      while (model.length > 0) {
        const gone = (forward ? model[0] : model.at(-1)) as Tagged
        index.remove(['red'], gone.order)
        model = model.filter((one) => one !== gone)
        checkTags(index, model, 0)
      }
    }
  })

  it('a tag that nobody has is no error, and one that all left is new again', () => {
    const index = new TagIndex()
    index.remove(['red'], 1)
    index.add(['red'], 5, 1)
    index.remove(['red'], 1)
    expect([...index.slots('red', 0)]).toEqual([])
    index.add(['red'], 6, 2)
    expect([...index.slots('red', 0)]).toEqual([[6, 2]])
  })
})

describe('remembered ids', () => {
  it('one is over at its moment, not before; a call drops those that are, soonest first', () => {
    const ids = new RememberedIds()
    ids.add(remembered('late', 300))
    ids.add(remembered('soon', 100))
    ids.add(remembered('middle', 200))
    expect(ids.find('soon', 99)?.id).toBe('soon')
    expect(ids.find('soon', 100)).toBeUndefined()
    ids.prune(99)
    expect(idsIn(ids)).toEqual(['late', 'soon', 'middle'])
    ids.prune(200)
    expect(idsIn(ids)).toEqual(['late'])
    expect(ids.find('late', 200)?.id).toBe('late')
  })

  it('P10: one call drops a hundred, the next one the rest', () => {
    const ids = new RememberedIds()
    for (let i = 0; i < 150; i += 1) ids.add(remembered(`m${i}`, 100))
    ids.prune(100)
    expect(idsIn(ids)).toEqual(Array.from({ length: 50 }, (_, i) => `m${i + 100}`))
    ids.prune(100)
    expect(idsIn(ids)).toEqual([])
    ids.prune(100)
  })

  it('one that is remembered anew has its new moment and its new place; forgotten, it is gone', () => {
    const ids = new RememberedIds()
    ids.add(remembered('a', 100))
    ids.add(remembered('b', 500))
    ids.add(remembered('a', 500))
    ids.prune(100)
    expect(idsIn(ids)).toEqual(['b', 'a'])
    const [, second] = ids.from(0)
    expect(idsIn(ids, second?.number)).toEqual(['a'])
    ids.delete('a')
    ids.delete('a')
    expect(ids.find('a', 0)).toBeUndefined()
    ids.prune(500)
    expect(idsIn(ids)).toEqual([])
  })
})

describe('the line of what is due', () => {
  it('hands out by moment, then by order; what left is passed over', () => {
    const entry = fc.record({ dueAt: fc.integer({ min: 0, max: 9 }), leaves: fc.boolean() })
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 60 }), (entries) => {
        const line = new ReadyLine((slot) => entries[slot]?.leaves === false)
        for (const [slot, { dueAt }] of entries.entries()) line.push(slot, dueAt, slot)
        const expected = entries
          .map(({ dueAt, leaves }, slot) => ({ slot, dueAt, leaves }))
          .filter(({ leaves }) => !leaves)
          .toSorted((a, b) => a.dueAt - b.dueAt)
        for (const { slot, dueAt } of expected) {
          expect([line.isEmpty(), line.firstDueAt(), line.first(), line.pop()]).toEqual([
            false,
            dueAt,
            slot,
            slot,
          ])
        }
        expect([line.isEmpty(), line.pop(), line.size]).toEqual([true, undefined, 0])
      }),
      SEED,
    )
  })

  it('is empty after it was cleared', () => {
    const line = new ReadyLine(() => true)
    line.push(1, 5, 1)
    line.push(2, 4, 2)
    line.clear()
    expect([line.size, line.firstDueAt(), line.first()]).toEqual([0, undefined, undefined])
    line.push(3, 9, 3)
    expect(line.pop()).toBe(3)
  })
})

describe('leases', () => {
  it('the one that ended first is next, of all owners but the one who asks', () => {
    const leases = new Leases(0)
    for (const [slot, owner, endsAt] of [
      [1, 'a', 300],
      [2, 'b', 200],
      [3, 'b', 100],
      [4, 'c', 150],
      [5, 'c', 900],
    ] as const)
      leases.grant(slot, owner, terms(endsAt))
    expect(leases.firstLapsed('z')).toBeUndefined()
    expect([leases.nextEndAt('z'), leases.nextEndAt('b'), leases.nextEndAt('c')]).toEqual([100, 150, 100])
    expect(leases.advance(300)).toBe(true)
    expect([leases.firstLapsed('z'), leases.firstLapsed('b'), leases.firstLapsed('c')]).toEqual([3, 4, 3])
    expect([leases.hasLapsed('a'), leases.hasLapsed('c'), leases.hasLapsed('z')]).toEqual([true, true, false])
    leases.extend(3, 1_000)
    expect(leases.firstLapsed('z')).toBe(4)
    leases.end(4)
    expect(leases.firstLapsed('z')).toBe(2)
    leases.end(2)
    expect([leases.firstLapsed('z'), leases.firstLapsed('a')]).toEqual([1, undefined])
    expect([leases.hasLapsed('b'), leases.hasLapsed('c')]).toEqual([false, false])
    expect([leases.size, leases.nextEndAt('z'), leases.nextEndAt('c')]).toEqual([3, 900, 1_000])
  })

  it('a token is granted once; an owner’s leases are its own, although numbers and lanes are used again', () => {
    const leases = new Leases(0)
    const tokens = new Set<string>()
    for (let round = 0; round < 5; round += 1) {
      for (let slot = 0; slot < 100; slot += 1) {
        const token = leases.grant(slot, `owner ${(slot + round) % 7}`, terms(1_000 + slot))
        expect(leases.isHeld(slot, token)).toBe(true)
        tokens.add(token)
      }
      for (let slot = 0; slot < 100; slot += 1) {
        expect(leases.ownerOf(slot)).toBe(`owner ${(slot + round) % 7}`)
        expect([leases.endsAt(slot), leases.isHeld(slot, '0')]).toEqual([1_000 + slot, false])
      }
      expect(leases.heldBy('owner 3', 0).held.length).toBeGreaterThanOrEqual(14)
      for (let slot = 0; slot < 100; slot += 1) leases.end(slot)
      leases.end(0)
      expect([leases.size, leases.endsAt(0), leases.ownerOf(0), leases.since(0)]).toEqual([0, 0, '', 0])
    }
    expect(tokens.size).toBe(500)
  })

  it('P10: an owner’s leases come in pages that look at a thousand each', () => {
    const leases = new Leases(0)
    for (let slot = 0; slot < 2_500; slot += 1) leases.grant(slot, slot % 2 === 0 ? 'a' : 'b', terms(1_000))
    const slots: number[] = []
    const sizes: number[] = []
    for (let from: number | undefined = 0; from !== undefined;) {
      const { held, next } = leases.heldBy('a', from)
      slots.push(...held.map(({ slot }) => slot))
      sizes.push(held.length)
      from = next
    }
    expect(sizes).toEqual([500, 500, 250])
    expect(slots).toEqual(Array.from({ length: 1_250 }, (_, i) => i * 2))
    expect(leases.heldBy('nobody', 0)).toEqual({ held: [] })
  })

  it('P10: one call moves ten thousand that ended, and says that more did', () => {
    const leases = new Leases(0)
    for (let slot = 0; slot < 10_001; slot += 1) leases.grant(slot, 'a', terms(100))
    expect(leases.advance(100)).toBe(false)
    expect(leases.advance(100)).toBe(true)
  })

  it('after the clock was set back, leases go on, and end in the order of their moments', () => {
    const leases = new Leases(10_000)
    leases.grant(1, 'a', terms(10_300))
    leases.grant(2, 'a', terms(10_100))
    leases.advance(10_400)
    expect(leases.firstLapsed('z')).toBe(2)
    leases.restart(10_050)
    expect([leases.firstLapsed('z'), leases.nextEndAt('z')]).toEqual([undefined, 10_100])
    leases.restart(10_200)
    expect([leases.firstLapsed('z'), leases.nextEndAt('z')]).toEqual([2, 10_300])
  })
})

describe('a forecast', () => {
  /** A few bars, or hundreds of them close together, which are searched in another way. */
  const widths = fc.oneof(
    fc.array(fc.integer({ min: 1, max: 5_000 }), { minLength: 1, maxLength: 12 }),
    fc
      .tuple(
        fc.array(fc.constantFrom(1, 1, 2), { minLength: 50, maxLength: 400 }),
        fc.integer({ min: 1, max: 10_000_000 }),
      )
      .map(([close, far]) => [...close, far, ...close]),
  )

  it('counts each message in its bar, whatever the bars look like', () => {
    fc.assert(
      fc.property(widths, fc.array(fc.nat(), { minLength: 20, maxLength: 60 }), (gaps, draws) => {
        const edges = [START]
        for (const gap of gaps) edges.push((edges.at(-1) as number) + gap)
        const messages = new Messages(START)
        // At edges, beside them, and anywhere, also before the first and after the last.
        const moments = draws.map((draw, i) => {
          const edge = edges[draw % edges.length] as number
          return edge + ([0, -1, 1, draw % 100][i % 4] as number)
        })
        for (const [i, at] of moments.entries()) messages.put(message(`m${i}`, { when: { at } }), START)
        const expected = gaps.map(
          (_, bar) =>
            moments.filter((at) => at >= (edges[bar] as number) && at < (edges[bar + 1] as number)).length,
        )
        expect(forecast(messages, { edges })).toEqual({ counts: expected, isExact: true })
      }),
      { ...SEED, numRuns: 150 },
    )
  })
})

describe('looking', () => {
  it('P10: a list of a tag looks at so many messages', () => {
    const messages = new Messages(START)
    for (let i = 0; i < 10_001; i += 1)
      messages.put(message(`m${i}`, { tags: ['red'], topic: i === 10_000 ? 'last' : 't' }), START)
    const query = { state: 'ready', tag: 'red', topic: 'last', limit: 5 } as const
    const first = inspect(messages, query, START)
    expect([first.items.length, first.scanned]).toEqual([0, 10_000])
    const second = inspect(messages, { ...query, cursor: first.cursor ?? '' }, START)
    expect([second.items.map(({ id }) => id), second.scanned, second.cursor]).toEqual([
      ['m10000'],
      1,
      undefined,
    ])
  })

  it.each(['tag', 'list'])('P10: a page of a %s is short when the bodies are large', (kind) => {
    const messages = new Messages(START)
    const body = 'x'.repeat(16 * 1024 * 1024)
    for (let i = 0; i < 5; i += 1) messages.put(message(`m${i}`, { tags: ['red'], body }), START)
    const query = { state: 'ready', limit: 9, ...(kind === 'tag' ? { tag: 'red' } : {}) } as const
    const sizes: number[] = []
    let cursor: string | undefined
    do {
      const page = inspect(messages, { ...query, ...(cursor === undefined ? {} : { cursor }) }, START)
      sizes.push(page.items.length)
      cursor = page.cursor
    } while (cursor !== undefined)
    expect(sizes).toEqual([2, 2, 1])
  })

  it('bodies that are only passed over cost no bytes of a page', () => {
    const messages = new Messages(START)
    const body = 'x'.repeat(16 * 1024 * 1024)
    for (let i = 0; i < 5; i += 1) messages.put(message(`m${i}`, { body }), START)
    messages.put(message('mine'), START)
    const { items, cursor } = inspect(messages, { state: 'ready', idPrefix: 'mine', limit: 9 }, START)
    expect([items.map(({ id }) => id), cursor]).toEqual([['mine'], undefined])
  })
})
