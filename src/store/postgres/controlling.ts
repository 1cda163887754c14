/** Pauses and limits of a PostgreSQL store, those of single keys too. */
import type { ControlChange } from '../contract/store.ts'
import type { KnownKeyLimits } from '../shared/controls.ts'
import { changeControl, isOfKey, type ControlsWrite } from '../sql/controlling.ts'
import type { GateRow } from '../sql/gating.ts'
import { limitColumns } from '../sql/key-states.ts'
import type { FunctionCalls } from './calls.ts'

/** `at`: the clock of a test, in microseconds. */
export function readControls(calls: FunctionCalls, queue: number, at: string | null): Promise<GateRow> {
  return calls.one('gate_1', [queue, at, []])
}

export async function setControl(
  calls: FunctionCalls,
  queue: number,
  at: string | null,
  change: ControlChange,
): Promise<void> {
  const ofKey = isOfKey(change)
    ? [change.topic, change.key, change.limit === null ? null : limitColumns(change.limit)]
    : [null, null, null]
  const write = async ({ revision, gone, changed }: ControlsWrite): Promise<boolean> => {
    const columns = [changed.map(([name]) => name), changed.map(([, control]) => control)]
    const values = [queue, revision, gone, ...columns, ...ofKey]
    return (await calls.one<{ set_controls_1: boolean }>('set_controls_1', values)).set_controls_1
  }
  const known = async (topic: string, key: string): Promise<KnownKeyLimits> => {
    type Row = { readonly count: number; readonly is_there: boolean }
    const { count, is_there: isThere } = await calls.one<Row>('count_key_limits_1', [queue, topic, key])
    return { count, isThere }
  }
  await changeControl(
    () => readControls(calls, queue, at),
    write,
    change,
    ({ topic, key }) => known(topic, key),
  )
}
