/** Pauses and limits: read, changed here by the code that engines share, and written back unless somebody was faster. */
import type { ControlChange, ControlsReply } from '../contract/store.ts'
import {
  changeControls,
  describeControls,
  noteKeyLimit,
  type KeyLimitChange,
  type KnownKeyLimits,
} from '../shared/controls.ts'
import { controlsOf, type GateRow } from './gating.ts'
import { toMs } from './micros.ts'

export type ControlsWrite = {
  /** The one that was read. */
  readonly revision: number | null
  readonly gone: readonly string[]
  /** With their controls as JSON. */
  readonly changed: readonly (readonly [topic: string, control: string])[]
}

/** `write` answers false where the controls have another revision by now. `known`: only of a change of one key. */
export async function changeControl(
  read: () => Promise<GateRow>,
  write: (write: ControlsWrite) => Promise<boolean>,
  change: ControlChange,
  known?: (change: KeyLimitChange) => Promise<KnownKeyLimits>,
): Promise<void> {
  for (let isSet = false; !isSet;) {
    const row = await read()
    const controls = controlsOf(row)
    if (known !== undefined && isOfKey(change))
      noteKeyLimit(controls, change, await known(change), toMs(row.now_at))
    else changeControls(controls, change, toMs(row.now_at))
    const gone = (row.names ?? []).filter((name) => !controls.has(name))
    const control = controls.get(change.topic)
    const changed = control === undefined ? [] : [[change.topic, JSON.stringify(control)] as const]
    isSet = await write({ revision: row.revision, gone, changed })
  }
}

export function isOfKey(change: ControlChange): change is KeyLimitChange {
  return change.kind === 'limit' && change.key !== undefined
}

export function controlsReply(row: GateRow): ControlsReply {
  const now = toMs(row.now_at)
  return { now, controls: describeControls(controlsOf(row), now) }
}
