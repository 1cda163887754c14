/** The auditor of `npm run chaos:bridge` sees what it is there to see. */
import { expect, it } from 'vitest'
import { BridgeAudit, isBroken } from '../../chaos/bridge/audit.ts'

const T = 1_000_000

function audit(): BridgeAudit {
  const made = new BridgeAudit()
  made.published('a', { confirmedAt: T, delayMs: 100, sends: 1 })
  return made
}

it('nothing wrong: nothing found', () => {
  const a = audit()
  a.arrived('a', T + 105, T + 100, T + 100)
  expect(a.verdict()).toMatchObject({ published: 1, lost: 0, early: 0, repeated: 0 })
  expect(isBroken(a.verdict())).toBe(false)
})

it('a confirmed message that never arrives is lost', () => {
  expect(audit().verdict()).toMatchObject({ lost: 1 })
  expect(isBroken(audit().verdict())).toBe(true)
})

it('early by the bridge’s word, or by the publisher’s own reckoning', () => {
  for (const [dueAt, earliestAt] of [
    [T + 101, T],
    [T, T + 101],
  ] as const) {
    const a = audit()
    a.arrived('a', T + 100, dueAt, earliestAt)
    expect(a.verdict()).toMatchObject({ early: 1 })
    expect(isBroken(a.verdict())).toBe(true)
  }
})

it('a repeat is excused by a kill while it was in flight, and by nothing else', () => {
  for (const [killedAt, unexcused] of [
    [T + 200, 0],
    [T + 60_000, 1],
  ] as const) {
    const a = audit()
    a.killed(killedAt)
    a.arrived('a', T + 105, T + 100, T + 100)
    a.arrived('a', T + 70_000, T + 100, T + 100)
    expect(a.verdict()).toMatchObject({ repeated: 1, 'repeated, not in flight': unexcused })
  }
})
