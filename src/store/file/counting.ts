/**
 * Keeps `count` short. Before counting, every line whose mark has fallen far behind gets it moved, in steps that
 * each take one short transaction, so that neither the event loop nor the write lock is held for long, however
 * many messages came due since anybody counted last.
 */
import type { Environment } from './environment.ts'
import { allTopics, type View } from './inspection.ts'
import { lineRange, parseWaitingKey } from './keys.ts'
import type { Ledger } from './ledger.ts'
import type { Line, Topic } from './topic.ts'
import type { Tree } from './tree.ts'

/** Shorter walks than this are not worth a write. */
const WALK_MAX = 2000
/** How far one transaction moves a mark. */
const STEP = 20_000

export async function moveMarks(environment: Environment, queue: number, now: () => number): Promise<void> {
  for (;;) {
    environment.tree.refresh()
    const behind = lineFarBehind({ tree: environment.tree, queue, now: now() })
    if (behind === undefined) return
    const { topic, priority } = behind
    await environment.committer.commit(1, (ledger) => moveMark(ledger, topic, priority, now()))
  }
}

function lineFarBehind(view: View): { readonly topic: Topic; readonly priority: number } | undefined {
  for (const topic of allTopics(view)) {
    for (const [priority, line] of topic.lines.entries()) {
      if (line.waiting <= WALK_MAX || line.markAt >= view.now) continue
      const range = lineRange(topic.number, priority, line.markAt, view.now)
      if (view.tree.count(range, WALK_MAX + 1) > WALK_MAX) return { topic, priority }
    }
  }
  return undefined
}

function moveMark(ledger: Ledger, { queue, name, number }: Topic, priority: number, now: number): void {
  // Emptied and forgotten in the meantime, perhaps by another process.
  if (ledger.topicNamed(queue, name)?.number !== number) return
  const topic = ledger.topic(queue, number)
  const line = topic.lines[priority]
  if (line === undefined || line.markAt >= now) return
  const markAt = stepFrom(ledger.tree, topic, priority, line, now)
  line.ready += ledger.tree.count(lineRange(number, priority, line.markAt, markAt), Infinity)
  line.markAt = markAt
}

/** The moment STEP messages further on, or now if that comes first. All messages of one moment go together. */
function stepFrom(tree: Tree, topic: Topic, priority: number, line: Line, now: number): number {
  const keys = tree.keys(lineRange(topic.number, priority, line.markAt, now), STEP)
  const last = keys.at(-1)
  return keys.length < STEP || last === undefined ? now : parseWaitingKey(last).dueAt
}
