/**
 * Pauses and limits: few rows, read whole by every claim. A queue without any pays one look for it.
 *
 * A row is the control as JSON, with the moments up to which its rates are used up; a claim that hands out under a rate
 * writes it back in the same transaction (P14).
 */
import type { TopicControl } from '../../../core/controls.ts'
import type { ClaimDue, ControlChange, ControlsReply } from '../../contract/store.ts'
import { changeControls, describeControls, noteKeyLimit } from '../../shared/controls.ts'
import { Gates } from '../../shared/gates.ts'
import { isOfKey } from '../../sql/controlling.ts'
import { knownKeyLimits, setKeyLimit } from '../keys/rules.ts'
import type { Scene, View } from './scene.ts'

type LimitChange = Extract<ControlChange, { kind: 'limit' }>
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
  if (isOfKey(change)) {
    noteKeyLimit(all, change, knownKeyLimits(scene, change), scene.now)
    setKeyLimit(scene, change)
  } else changeControls(all, change, scene.now)
  for (const topic of before) if (!all.has(topic)) scene.db.run(FORGET, scene.queue, topic)
  const after = all.get(change.topic)
  if (after !== undefined) keep(scene, change.topic, after)
  if (change.kind === 'limit') tellKeys(scene, change)
  scene.ledger.wake(scene.queueName, 'controls')
}

/** What keys of the topic are allowed has changed. */
function tellKeys({ ledger, turns, queue }: Scene, { topic: name, key }: LimitChange): void {
  const topic = ledger.topicNamed(queue, name)
  if (topic === undefined) return
  if (key === undefined) turns.sweep(topic.topic)
  else turns.touch(topic.topic, key)
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
