/** What befalls processes and lines during the storm: outages, kills, stops, freezes, clocks that jump. */
import type { Chance } from './chance.ts'
import type { Host } from './host.ts'
import type { Partition } from './partition.ts'
import type { World } from './world.ts'

const OUTAGE_MS_MAX = 300_000
const FREEZE_MS_MAX = 120_000
const WALL_JUMP_MS_MAX = 86_400_000
const STORE_JUMP_MS_MAX = 60_000

export function planDisturbances(world: World, hosts: readonly Host[]): void {
  const chance = world.chance.stream('disturbances')
  const { outages, kills, stops, freezes, wallJumps, storeJumps, storeSetBacks, partitionLosses } =
    world.plan.disturbances
  const whose = world.chance.stream('whose clock')
  const pickPartition = (): Partition =>
    world.partitions[whose.whole(0, world.partitions.length - 1)] as Partition
  const often = (count: number, happen: (host: Host) => void): void => {
    for (let i = 0; i < count; i += 1) {
      world.timeline.after(chance.next() * world.plan.stormMs, undefined, () => {
        const host = chance.pick(hosts)
        if (host !== undefined) happen(host)
      })
    }
  }
  often(outages, (host) => cutOff(world, chance, chance.happens(0.5) ? hosts : [host]))
  often(kills, (host) => host.kill())
  often(stops, (host) => host.stop())
  often(freezes, (host) => host.process?.freeze(chance.spread(10, FREEZE_MS_MAX)))
  often(wallJumps, (host) => {
    world.tally.clockJumps += 1
    host.process?.clock.jump(chance.whole(-WALL_JUMP_MS_MAX, WALL_JUMP_MS_MAX))
  })
  often(storeJumps, () => {
    world.tally.clockJumps += 1
    const partition = pickPartition()
    partition.time.jump(chance.spread(1, STORE_JUMP_MS_MAX))
    world.history.note(storeName(world, partition), () => 'its clock is set forward')
  })
  planSetBacks(world, storeSetBacks, pickPartition)
  planLosses(world, partitionLosses)
}

/** From a stream of its own, so that seeds without them are what they were. */
function planSetBacks(world: World, count: number, pickPartition: () => Partition): void {
  const chance = world.chance.stream('set backs')
  for (let i = 0; i < count; i += 1) {
    world.timeline.after(chance.next() * world.plan.stormMs, undefined, () => {
      const byMs = chance.spread(1, STORE_JUMP_MS_MAX)
      world.tally.clockJumps += 1
      const partition = pickPartition()
      partition.time.jump(-byMs)
      world.history.note(storeName(world, partition), () => `its clock is set back by ${byMs} ms`)
    })
  }
}

/** A partition is away for everybody, as when its master dies; the others go on. */
function planLosses(world: World, count: number): void {
  const chance = world.chance.stream('losses')
  for (let i = 0; i < count; i += 1) {
    world.timeline.after(chance.next() * world.plan.stormMs, undefined, () => {
      const partition = world.partitions[chance.whole(0, world.partitions.length - 1)] as Partition
      const outage = chance.pick(['refusing', 'silent'] as const)
      const forMs = Math.min(chance.spread(100, OUTAGE_MS_MAX), world.plan.stormMs / 4)
      world.tally.outages += 1
      world.weather.loses(partition.number, outage)
      world.history.note(storeName(world, partition), () => `is away (${outage}) for ${Math.round(forMs)} ms`)
      world.timeline.after(forMs, undefined, () => world.weather.returns(partition.number))
    })
  }
}

function storeName({ partitions }: World, { number }: Partition): string {
  return partitions.length === 1 ? 'store' : `store ${number + 1}`
}

function cutOff(world: World, chance: Chance, hosts: readonly Host[]): void {
  const outage = chance.pick(['refusing', 'silent'] as const)
  const forMs = Math.min(chance.spread(100, OUTAGE_MS_MAX), world.plan.stormMs / 4)
  world.tally.outages += 1
  for (const { name } of hosts) {
    world.weather.cut(name, outage)
    world.history.note(name, () => `is cut off (${outage}) for ${Math.round(forMs)} ms`)
    world.timeline.after(forMs, undefined, () => world.weather.mend(name))
  }
}
