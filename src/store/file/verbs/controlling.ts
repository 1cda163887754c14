/**
 * Pauses and limits: few rows, read whole by every claim. A queue without any pays one look for it.
 *
 * A row is the control as JSON, with the moments up to which its rates are used up; a claim that hands out under a rate
 * writes it back in the same transaction (P14).
 */
import type { TopicControl } from '../../../core/controls.ts'
import type { ClaimDue, ControlChange, ControlsReply } from '../../contract/store.ts'
import { changeControls, describeControls } from '../../shared/controls.ts'
import { Gates } from '../../shared/gates.ts'
import type { Scene, View } from './scene.ts'

type ControlRow = { readonly topic: string; readonly control: string }

const CONTROLS = 'SELECT topic, control FROM control WHERE queue = ?'
const KEEP = 'INSERT OR REPLACE INTO control (queue, topic, control) VALUES (?, ?, ?)'
const FORGET = 'DELETE FROM control WHERE queue = ? AND topic = ?'

function readControls({ db, queue }: View): Map<string, TopicControl> {
  const rows = db.all<ControlRow>(CONTROLS, queue)
  return new Map(rows.map((row) => [row.topic, JSON.parse(row.control) as TopicControl]))
}

function keep({ db, queue }: Scene, topic: string, kept: TopicControl): void {
  db.run(KEEP, queue, topic, JSON.stringify(kept))
}

export function control(scene: Scene, change: ControlChange): void {
  const all = readControls(scene)
  const before = [...all.keys()]
  changeControls(all, change, scene.now)
  for (const topic of before) if (!all.has(topic)) scene.db.run(FORGET, scene.queue, topic)
  const after = all.get(change.topic)
  if (after !== undefined) keep(scene, change.topic, after)
  scene.ledger.wake(scene.queueName, 'controls')
}

export function controls(view: View): ControlsReply {
  return { now: view.now, controls: describeControls(readControls(view), view.now) }
}

/** Undefined where nothing is paused or limited. */
export function gatesOf(view: View, request: ClaimDue): Gates | undefined {
  const all = readControls(view)
  return all.size === 0 ? undefined : new Gates(all, request, view.now)
}

/** What was handed out under a rate is charged. */
export function keepCharged(scene: Scene, gates: Gates | undefined): void {
  for (const [topic, charged] of gates?.charged() ?? []) keep(scene, topic, charged)
}

/** How many of a topic may run at once, for those that have such a limit. */
export function concurrencyLimits(view: View): ReadonlyMap<string, number> {
  const limits = new Map<string, number>()
  for (const [topic, { limit }] of readControls(view))
    if (limit.concurrency !== undefined) limits.set(topic, limit.concurrency)
  return limits
}
