/** What was done and what went wrong in one simulation, in numbers. */
export type Tally = Record<
  | 'calls'
  | 'refused'
  | 'repliesLost'
  | 'duplicated'
  | 'slow'
  | 'wakesLost'
  | 'outages'
  | 'kills'
  | 'freezes'
  | 'stops'
  | 'clockJumps'
  | 'produced'
  | 'handlersStarted'
  | 'handlersFailed'
  | 'completed'
  | 'postponed'
  | 'actions',
  number
>

export function newTally(): Tally {
  return {
    calls: 0,
    refused: 0,
    repliesLost: 0,
    duplicated: 0,
    slow: 0,
    wakesLost: 0,
    outages: 0,
    kills: 0,
    freezes: 0,
    stops: 0,
    clockJumps: 0,
    produced: 0,
    handlersStarted: 0,
    handlersFailed: 0,
    completed: 0,
    postponed: 0,
    actions: 0,
  }
}

/** Everything that went wrong because we made it. */
export function faultsIn(tally: Tally): number {
  const { refused, repliesLost, duplicated, slow, wakesLost, outages, kills, freezes, stops, clockJumps } =
    tally
  const lines = refused + repliesLost + duplicated + slow + wakesLost + outages
  return lines + kills + freezes + stops + clockJumps + tally.handlersFailed
}

export function addTally(sum: Tally, one: Tally): void {
  for (const key of Object.keys(sum) as (keyof Tally)[]) sum[key] += one[key]
}
