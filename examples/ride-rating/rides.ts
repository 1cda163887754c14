/** Rides of a taxi app: one that was not rated within 48 hours gets five stars. */
import type { Punctual } from 'punctual'

export type Topics = { 'ride.rate': { rideId: string } }

export const RATE_WITHIN = '48h'

export class Rides {
  readonly stars = new Map<string, number>()
  readonly #queue: Punctual<Topics>

  constructor(queue: Punctual<Topics>) {
    this.#queue = queue
    queue.handle('ride.rate', ({ payload: { rideId } }) => {
      if (!this.stars.has(rideId)) this.stars.set(rideId, 5)
    })
  }

  async end(rideId: string): Promise<void> {
    await this.#queue.produce('ride.rate', { rideId }, { id: rideId, delay: RATE_WITHIN })
  }

  async rate(rideId: string, stars: number): Promise<void> {
    this.stars.set(rideId, stars)
    await this.#queue.cancel(rideId)
  }
}
