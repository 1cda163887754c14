/**
 * The message: what it is made of, and the states it can be in.
 *
 * What a field means in each state:
 *
 *             delayed            ready              running               dead
 *   dueAt     starts then        started to be due  was due then          was due then
 *   attempt   finished attempts  finished attempts  includes this one     finished attempts
 *   error     of the last try    of the last try    of the last try       what it died of
 */
export const MESSAGE_STATES = ['delayed', 'ready', 'running', 'dead'] as const
export type MessageState = (typeof MESSAGE_STATES)[number]

/** How a message that is done is remembered: its handler ran, or it was too late to run it. */
export type RememberedOutcome = 'completed' | 'skipped'

/** What can be seen of an id: a message in its state, or one that is done and remembered. */
export type ShownState = MessageState | 'completed'

export const PRIORITIES = ['high', 'normal', 'low'] as const
export type Priority = (typeof PRIORITIES)[number]

/** What the engines store: 0 is handed out first. */
export type PriorityRank = 0 | 1 | 2

export function priorityRank(priority: Priority): PriorityRank {
  return PRIORITIES.indexOf(priority) as PriorityRank
}

export function priorityName(rank: PriorityRank): Priority {
  return PRIORITIES[rank]
}
