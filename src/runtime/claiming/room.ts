/**
 * How much one partition may be asked for at this moment: what the lanes can start now or soon, less what other partitions
 * of the queue have asked for. While settlements are stuck it is nothing.
 */
import type { LaneRoom } from '../../core/machines/fetch.ts'
import type { Want } from '../../store/contract/store.ts'
import type { Settler } from '../leases/settler.ts'
import type { Lane } from '../runs/lane.ts'
import type { Lanes } from '../runs/lanes.ts'
import type { RoomSharing, Sharer } from './sharing.ts'

/** One claim asks for at most this: the next one is then under way while these are being run. */
const CLAIM_MAX = 500

/** What others have asked for and may yet be handed. */
export type Promised = { readonly total: number; readonly of: (topic: string) => number }

export const NOTHING_PROMISED: Promised = { total: 0, of: () => 0 }

export type PartitionRoomParts = {
  readonly lanes: Lanes
  readonly settler: Pick<Settler, 'isStuck'>
  /** Undefined for a queue of one partition. */
  readonly sharing: RoomSharing | undefined
}

export class PartitionRoom {
  readonly #asker: Sharer
  readonly #parts: PartitionRoomParts

  constructor(asker: Sharer, parts: PartitionRoomParts) {
    this.#asker = asker
    this.#parts = parts
  }

  promised(): Promised {
    return this.#parts.sharing?.promised(this.#asker) ?? NOTHING_PROMISED
  }

  /** Every lane, and what it wants; the one behind that which was served last comes first. */
  survey(servedLast: Lane | undefined): {
    readonly rooms: readonly LaneRoom<Lane>[]
    readonly wants: readonly Want[]
  } {
    const { lanes } = this.#parts
    const survey = lanes.survey()
    const promised = this.promised()
    const rooms: LaneRoom<Lane>[] = []
    const wants: Want[] = []
    for (let distance = 0; distance < lanes.all.length; distance += 1) {
      const lane = lanes.after(servedLast, distance)
      if (lane === undefined) continue
      const room = lanes.roomFor(lane, survey)
      const limit = this.#share(Math.max(0, room - promised.of(lane.topic)))
      rooms.push({ lane, room, limit })
      if (limit > 0) wants.push({ topic: lane.topic, limit, free: lanes.freeFor(lane) })
    }
    return { rooms, wants }
  }

  /** Of all wants together. */
  limit(): number {
    return Math.min(this.#share(this.#left(this.promised())), CLAIM_MAX)
  }

  /** Whether one of these lanes has room that is worth a claim. */
  isIn(among: readonly Lane[], promised: Promised): boolean {
    const { lanes, settler } = this.#parts
    if (settler.isStuck) return false
    const survey = lanes.survey()
    return among.some(
      (lane) =>
        (survey.room - promised.total > 0 || lane.own !== undefined) &&
        lanes.isWorthwhile(lane, survey) &&
        lanes.roomFor(lane, survey) > promised.of(lane.topic),
    )
  }

  /** Whether every lane that has room can be asked for. */
  isForAll(promised: Promised): boolean {
    const { lanes, settler } = this.#parts
    if (settler.isStuck || this.#left(promised) === 0) return false
    const survey = lanes.survey()
    return lanes.all.every((lane) => {
      const room = lanes.roomFor(lane, survey)
      return room === 0 || room > promised.of(lane.topic)
    })
  }

  /** Our own messages come first within the room that users have, and have their own where users have none. */
  #left({ total }: Promised): number {
    const { lanes } = this.#parts
    return Math.max(0, (lanes.survey().room || lanes.ownRoom()) - total)
  }

  #share(left: number): number {
    return this.#parts.sharing?.share(left) ?? left
  }
}
