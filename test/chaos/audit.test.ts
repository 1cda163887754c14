/** The auditor finds what is planted, and lets pass what a fault explains. */
import { describe, expect, it } from 'vitest'
import { audit } from '../../chaos/audit.ts'
import { judgeCalm, measureCalm } from '../../chaos/lateness.ts'
import { gather } from '../../chaos/stories.ts'
import { History } from './history.ts'

const RULES = {
  stopMs: 10_000,
  isExpected: (complaint: string) => complaint === 'lies in memory',
  forgets: ['crash server'],
}
const OTHER = 'worker-3.1'

function findingsIn({ lines }: History): string[] {
  return audit(gather(lines), RULES).findings.map(({ promise, what }) => `${promise} ${what}`)
}

function produced(): History {
  return new History().produced(1, { at: 100 }).promised(1, { at: 101 })
}

function producedAfter(history: History, at = 100): History {
  return history.produced(2, { at }).promised(2, { at: at + 1 })
}

/** Asked to run 100 ms later; run 45 ms later. */
function moved(answer: (history: History) => History): string[] {
  const history = answer(produced().asked('reschedule', 2, { at: 105, delay: 100 }))
  return findingsIn(history.started(1, { at: 150 }).ended(1, 'done', { at: 151 }))
}

function calm(lateMs: number): History {
  return new History()
    .produced(1, { at: 100, isCalm: true })
    .promised(1, { at: 101 })
    .started(1, { at: 100 + lateMs, dueAt: 100 })
}

function runAfterCancel(): History {
  return produced()
    .asked('cancel', 2, { at: 105 })
    .answered(2, 'cancelled', { at: 106 })
    .started(1, { at: 3_000 })
    .ended(1, 'done', { at: 3_001 })
}

/** Started by one, then by another; what happened in between is up to `explain`. */
function repeated(explain: (history: History) => History): string[] {
  const history = explain(produced().started(1, { at: 110 }))
  return findingsIn(history.started(2, { at: 5_000, by: OTHER }).ended(2, 'done', { at: 5_001, by: OTHER }))
}

function attempts(first: number, second: number): string[] {
  const failed = produced().started(first, { at: 110 }).ended(first, 'threw', { at: 111 })
  return findingsIn(failed.started(second, { at: 200 }).ended(second, 'done', { at: 201 }))
}

function died(reason: string, attempt: number): string[] {
  return findingsIn(produced().found('buried', { at: 900, attempt, reason }))
}

function cancelledAfterReplace(answer: string): string[] {
  return findingsIn(
    produced()
      .produced(2, { at: 102, ifExists: 'replace' })
      .promised(2, { at: 103 })
      .asked('cancel', 3, { at: 104 })
      .answered(3, answer, { at: 105 })
      .started(1, { at: 3_000 })
      .ended(1, 'done', { at: 3_001 })
      .heard('completed', 1, { at: 3_002 }),
  )
}

function expired(how: 'done' | 'threw'): string[] {
  return findingsIn(
    new History()
      .produced(1, { at: 100, ttl: 50 })
      .promised(1, { at: 101 })
      .started(1, { at: 110 })
      .ended(1, how, { at: 111 })
      .found('buried', { at: 900, attempt: 2, reason: 'expired' }),
  )
}

function ended(code: number): string[] {
  return findingsIn(new History().exited(100, { code, isKilled: false }))
}

function slowStop(): History {
  return new History().stopped(20_000, 12_000)
}

describe('the auditor: loss', () => {
  it('P2: promised, and never seen again', () => {
    expect(findingsIn(produced())).toEqual([expect.stringMatching(/^P2 .*never seen again/)])
  })

  it('P2: started, and gone without an end', () => {
    const history = produced().started(1, { at: 110 }).exited(120, { signal: 'SIGKILL', isKilled: true })
    expect(findingsIn(history)).toEqual([expect.stringMatching(/^P2 .*never seen again/)])
  })

  it('run to its end, it is not lost, even if nobody heard the answer of the store', () => {
    expect(findingsIn(new History().ran({ at: 100 }))).toEqual([])
    expect(findingsIn(produced().started(1, { at: 110 }).ended(1, 'done', { at: 111 }))).toEqual([])
  })

  it('P2: a message that nobody produced', () => {
    const history = new History().started(1, { at: 100 })
    expect(findingsIn(history)).toEqual([expect.stringContaining('no producer announced it')])
  })

  it('P8: something is left in the store at the end', () => {
    const history = produced().found('left', { at: 900 })
    expect(findingsIn(history)).toEqual([expect.stringMatching(/^P8 .*left in the store/)])
  })

  it('without a promise there is no loss', () => {
    expect(findingsIn(new History().produced(1, { at: 100 }))).toEqual([])
    expect(findingsIn(new History().produced(1, { at: 100 }).unknown(1, { at: 200 }))).toEqual([])
  })

  it.each([
    ['cancelled', (history: History) => history.answered(2, 'cancelled', { at: 106 }), 0],
    ['perhaps cancelled', (history: History) => history.unknown(2, { at: 106 }), 0],
    ['not cancelled', (history: History) => history.answered(2, 'missing', { at: 106 }), 1],
  ])('%s: taken back by its producer or not', (_name, answer, findings) => {
    expect(findingsIn(answer(produced().asked('cancel', 2, { at: 105 })))).toHaveLength(findings)
  })

  it('P2: a cancel before it was produced is no excuse, unless nobody knows when it came', () => {
    const before = new History().asked('cancel', 1, { at: 50 })
    expect(findingsIn(producedAfter(before.answered(1, 'cancelled', { at: 51 })))).toHaveLength(1)
    const unsure = new History().asked('cancel', 1, { at: 50 }).unknown(1, { at: 60 })
    expect(findingsIn(producedAfter(unsure))).toEqual([])
  })

  it('the same id again: kept for the first, lost when the first was gone for sure', () => {
    expect(findingsIn(producedAfter(new History().ran({ at: 100 }), 103))).toEqual([])
    expect(findingsIn(producedAfter(new History().ran({ at: 100 }), 200))).toEqual([
      expect.stringMatching(/^P2 x#2: .*never seen again/),
    ])
  })
})

describe('the auditor: moments', () => {
  it('P1: before the moment that its worker was told', () => {
    const history = produced().started(1, { at: 110, dueAt: 111 }).ended(1, 'done', { at: 112 })
    expect(findingsIn(history)).toEqual([expect.stringMatching(/^P1 .*1 ms early/)])
  })

  it('P1: before the moment that its producer asked for', () => {
    const history = new History()
      .produced(1, { at: 100, delay: 50 })
      .promised(1, { at: 101 })
      .started(1, { at: 149 })
      .ended(1, 'done', { at: 150 })
    expect(findingsIn(history)).toEqual([expect.stringMatching(/^P1 .*1 ms before it was asked for/)])
  })

  it('P1: after a reschedule its new moment counts, and the old one while nobody knows', () => {
    expect(moved((history) => history.answered(2, 'rescheduled', { at: 106 }))).toHaveLength(1)
    expect(moved((history) => history.answered(2, 'running', { at: 106 }))).toEqual([])
    expect(moved((history) => history.unknown(2, { at: 106 }))).toEqual([])
  })

  it('lateness in the calm: measured, and too late', () => {
    const lateness = measureCalm(calm(3).lines)
    expect(lateness).toEqual({ messages: 1, p50Ms: 3, p99Ms: 3, maxMs: 3 })
    expect(judgeCalm(lateness)).toEqual([])
    expect(judgeCalm(measureCalm(calm(900).lines))).toEqual([
      expect.objectContaining({ what: expect.stringContaining('p50') as string }),
    ])
    expect(judgeCalm(measureCalm([]))).toHaveLength(1)
  })
})

describe('the auditor: after the end', () => {
  it('P4: started after its completion was acknowledged', () => {
    const history = new History().ran({ at: 100 }).started(2, { at: 105, by: OTHER })
    expect(findingsIn(history)).toContainEqual(expect.stringMatching(/^P4 .*1 ms after its completion/))
  })

  it('P4: in the same millisecond nobody can tell which was first', () => {
    const history = new History().ran({ at: 100 }).started(2, { at: 104, by: OTHER })
    expect(findingsIn(history).filter((finding) => finding.startsWith('P4'))).toEqual([])
  })

  it('P4: completed twice, or by one whose handler did not return', () => {
    const twice = new History().ran({ at: 100 }).heard('completed', 1, { at: 109 })
    expect(findingsIn(twice)).toEqual([expect.stringMatching(/^P4 .*completed 2 times/)])
    const unreturned = produced().started(1, { at: 110 }).heard('completed', 1, { at: 111 })
    expect(findingsIn(unreturned)).toEqual([expect.stringMatching(/^P4 .*did not return/)])
  })

  it('P4: started after it was cancelled; a worker that has just thawed may have looked before', () => {
    expect(findingsIn(runAfterCancel())).toEqual([expect.stringMatching(/^P4 .*after it was cancelled/)])
    expect(findingsIn(runAfterCancel().fault('freeze worker', { at: 104, until: 2_999 }))).toEqual([])
  })

  it('P4: started after it was replaced, unless it had been handed out and its successor waited', () => {
    expect(replaced(110, 112)).toEqual([])
    expect(replaced(112, 110)).toEqual([expect.stringMatching(/^P4 x#1: .*after it was replaced/)])
    expect(replaced(3_000, 3_002)).toEqual([expect.stringMatching(/^P4 x#1: .*after it was replaced/)])
  })

  it('P4: a cancel that answers `running` takes the successor away, and what runs goes on', () => {
    expect(cancelledAfterReplace('running')).toEqual([])
    expect(cancelledAfterReplace('missing')).toEqual([
      expect.stringMatching(/^P4 x#1: .*after it was replaced/),
      expect.stringMatching(/^P2 x#2: .*never seen again/),
    ])
  })

  it('P5: refused, and run all the same; or refused for an id that nobody had', () => {
    const history = new History()
      .produced(1, { at: 100, ifExists: 'fail' })
      .refused(1, { at: 101, code: 'ID_EXISTS' })
      .started(1, { at: 110 })
      .ended(1, 'done', { at: 111 })
    expect(findingsIn(history)).toEqual([
      expect.stringMatching(/^P5 .*run all the same/),
      expect.stringMatching(/^P5 .*which it cannot/),
    ])
  })
})

describe('the auditor: repeats', () => {
  it('P3: without a reason', () => {
    expect(repeated((history) => history)).toContainEqual(expect.stringMatching(/^P3 .*without a reason/))
  })

  it('P3: a fault to somebody else is no reason', () => {
    expect(
      repeated((history) => history.fault('kill worker', { at: 200, until: 201, target: 'worker-4.1' })),
    ).toContainEqual(expect.stringMatching(/^P3/))
  })

  it('P3: a freeze is no reason as long as the worker lives and does not say that it lost the lease', () => {
    expect(repeated((history) => history.fault('freeze worker', { at: 200, until: 4_000 }))).toContainEqual(
      expect.stringMatching(/^P3/),
    )
  })

  it.each<[string, (history: History) => History]>([
    ['its handler failed', (history) => history.ended(1, 'threw', { at: 120 })],
    [
      'its worker was killed',
      (history) =>
        history
          .fault('kill worker', { at: 200, until: 201 })
          .exited(201, { signal: 'SIGKILL', isKilled: true }),
    ],
    [
      'its handler killed its worker',
      (history) => history.ended(1, 'dies', { at: 120 }).exited(121, { signal: 'SIGKILL', isKilled: false }),
    ],
    ['its lease was lost', (history) => history.heard('lost', 1, { at: 6_000 })],
    [
      'it was cut off, and killed before it could say so',
      (history) =>
        history
          .fault('freeze worker', { at: 200, until: 9_000 })
          .exited(9_000, { signal: 'SIGKILL', isKilled: true }),
    ],
  ])('explained: %s', (_reason, explain) => {
    expect(repeated(explain)).toEqual([])
  })

  it('P6: an attempt counted twice, not at all, or beyond the limit', () => {
    expect(attempts(1, 2)).toEqual([])
    expect(attempts(1, 1)).toEqual([expect.stringMatching(/^P6 .*attempt 1 came after attempt 1/)])
    expect(attempts(1, 3)).toEqual([expect.stringMatching(/^P6 .*no process was in trouble/)])
    expect(attempts(4, 5)).toContainEqual(expect.stringMatching(/^P6 .*attempt 5 of at most 4/))
  })

  it('P6: a worker that has just thawed starts what another one has taken over and done meanwhile', () => {
    const history = new History()
      .produced(1, { at: 100 })
      .promised(1, { at: 101 })
      .started(2, { at: 3_000, by: 'worker-3.1' })
      .ended(2, 'done', { at: 3_010, by: 'worker-3.1' })
      .started(1, { at: 3_500 })
      .heard('lost', 1, { at: 3_510 })
      .ended(1, 'done', { at: 3_520 })
    const froze = { at: 110, until: 3_500 }
    expect(findingsIn(history)).toContainEqual(expect.stringMatching(/^P6 .*attempt 1 came after attempt 2/))
    expect(findingsIn(history.fault('freeze worker', froze))).toEqual([])
  })

  it('P6: an attempt given back by a worker that doubted its lease comes again, under the same number only', () => {
    expect(doubted(1, 1)).toEqual([])
    expect(doubted(2, 1)).toContainEqual(expect.stringMatching(/^P6 .*attempt 1 came after attempt 2/))
  })

  it('P6: a crash of the server may forget a claim; a fault that forgets nothing is no excuse, nor is it for a lower number', () => {
    const wrong: unknown = expect.stringMatching(/^P6 .*attempt 1 came after/)
    expect(forgotten('crash server', 1, 1)).toEqual([])
    expect(forgotten('restart server', 1, 1)).toContainEqual(wrong)
    expect(forgotten('crash server', 2, 1)).toContainEqual(wrong)
  })
})

function forgotten(kind: string, first: number, second: number): readonly string[] {
  return findingsIn(
    produced()
      .started(first, { at: 110 })
      .ended(first, 'done', { at: 120 })
      .fault(kind, { at: 130, until: 140, isForAll: true })
      .started(second, { at: 200, by: OTHER })
      .heard('lost', first, { at: 210 })
      .ended(second, 'done', { at: 220, by: OTHER }),
  )
}

function replaced(old: number, next: number): readonly string[] {
  return findingsIn(
    produced()
      .produced(2, { at: 105, ifExists: 'replace' })
      .promised(2, { at: 106 })
      .started(1, { at: old, g: 1 })
      .ended(1, 'done', { at: old + 1, g: 1 })
      .started(1, { at: next, g: 2 })
      .ended(1, 'done', { at: next + 1, g: 2 }),
  )
}

function doubted(first: number, second: number): readonly string[] {
  return findingsIn(
    produced()
      .started(first, { at: 110 })
      .heard('lost', first, { at: 150 })
      .ended(first, 'threw', { at: 151 })
      .started(second, { at: 200 })
      .ended(second, 'done', { at: 201 }),
  )
}

describe('the auditor: attempts that nobody started', () => {
  it.each<[string, (history: History) => History]>([
    [
      'a worker was killed',
      (history) => history.fault('kill worker', { at: 150, until: 151, target: OTHER }),
    ],
    [
      'a handler killed its worker',
      (history) => history.exited(150, { signal: 'SIGKILL', isKilled: true, process: OTHER }),
    ],
  ])('explained: %s, and had claimed it', (_reason, explain) => {
    const failed = produced().started(1, { at: 110 }).ended(1, 'threw', { at: 111 })
    const history = explain(failed).started(3, { at: 200 }).ended(3, 'done', { at: 201 })
    expect(findingsIn(history)).toEqual([])
  })
})

describe('the auditor: the dead', () => {
  it('P6: after all its attempts, or because its handler said so', () => {
    expect(died('failed', 4)).toEqual([])
    expect(died('failed', 2)).toEqual([expect.stringMatching(/^P6 .*dead, failed, at attempt 2/)])
    expect(died('gave up', 1)).toHaveLength(1)
    expect(died('expired', 1)).toHaveLength(1)
  })

  it('P6: expired after an end that its worker could tell nobody, and not after a failure', () => {
    expect(expired('done')).toEqual([])
    expect(expired('threw')).toEqual([expect.stringMatching(/^P6 .*dead, expired/)])
  })

  it('P8: completed and dead is one too many', () => {
    const history = new History().ran({ at: 100 }).found('buried', { at: 900, attempt: 4 })
    expect(findingsIn(history)).toEqual([expect.stringMatching(/^P8 .*dead as well/)])
  })
})

describe('the auditor: processes', () => {
  it('P8: a process that ended by itself', () => {
    expect(ended(0)).toEqual([])
    expect(ended(1)).toEqual([expect.stringMatching(/^P8 worker-2.1 ended by itself, code 1/)])
  })

  it('P8: what the doctor of the store complains about, unless it had to', () => {
    expect(findingsIn(new History().examined(['a count is wrong', 'lies in memory']))).toEqual([
      'P8 the doctor of the store: a count is wrong',
    ])
  })

  it('P11: a stop that took too long, unless it was frozen meanwhile', () => {
    expect(findingsIn(slowStop())).toEqual([expect.stringMatching(/^P11 worker-2.1 took 12000 ms/)])
    expect(findingsIn(slowStop().fault('freeze worker', { at: 9_000, until: 12_000 }))).toEqual([])
  })
})

function inPause(history: History): string[] {
  return findingsIn(history.started(1, { at: 5_000 }).ended(1, 'done', { at: 5_001 }))
}

describe('P14: a start in a pause', () => {
  it('is found', () => {
    expect(inPause(produced().steered('paused', { at: 1_000 }))).toEqual([
      'P14 x#1: started by worker-2.1 4000 ms after "t" was paused',
    ])
  })

  it('is none of another topic, nor shortly after the pause, nor when it is taken back', () => {
    expect(inPause(produced().steered('paused', { at: 1_000, topic: 'u' }))).toEqual([])
    expect(inPause(produced().steered('paused', { at: 4_000 }))).toEqual([])
    expect(inPause(produced().steered('paused', { at: 1_000 }).steered('resuming', { at: 4_990 }))).toEqual(
      [],
    )
  })
})
