/** Pauses and limits: read, changed here by the code that engines share, and written back unless somebody was faster. */
import type { ControlChange, ControlsReply } from '../contract/store.ts'
import { changeControls, describeControls } from '../shared/controls.ts'
import { toMs } from '../sql/micros.ts'
import type { FunctionCalls } from './calls.ts'
import { controlsOf, type GateRow } from '../sql/gating.ts'

/** The number of the queue, and the clock of a test. */
type QueueAndClock = readonly [queue: number, at: string | null]

export async function changeControl(
  calls: FunctionCalls,
  [queue, at]: QueueAndClock,
  change: ControlChange,
): Promise<void> {
  for (let isSet = false; !isSet;) {
    const row = await calls.one<GateRow>('gate_1', [queue, at, []])
    const controls = controlsOf(row)
    changeControls(controls, change, toMs(row.now_at))
    const gone = (row.names ?? []).filter((name) => !controls.has(name))
    const changed = controls.get(change.topic)
    const [names, texts] = changed === undefined ? [[], []] : [[change.topic], [JSON.stringify(changed)]]
    const values = [queue, row.revision, gone, names, texts]
    const reply = await calls.one<{ set_controls_1: boolean }>('set_controls_1', values)
    isSet = reply.set_controls_1
  }
}

export async function readControls(calls: FunctionCalls, [queue, at]: QueueAndClock): Promise<ControlsReply> {
  const row = await calls.one<GateRow>('gate_1', [queue, at, []])
  const now = toMs(row.now_at)
  return { now, controls: describeControls(controlsOf(row), now) }
}
