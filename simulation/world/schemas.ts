/** Schemas of topics: payloads fit, but for those that are made not to. Some answer at once, some after a while. */
import type { SchemaResult, StandardSchema } from '../../src/core/input/schema.ts'
import type { Chance } from './chance.ts'
import type { SimulatedProcess } from './process.ts'
import type { World } from './world.ts'

export const LATER_MS_MAX = 20_000

/** A payload that every schema here refuses. */
export const MISFIT = { misfit: true }

export function isMisfit(body: string): boolean {
  return body === JSON.stringify(MISFIT)
}

/** A worker asks its schemas; a process that only produces is of a version that had none. */
export function schemasFor(
  world: World,
  process: SimulatedProcess,
  topics: readonly string[],
): Record<string, StandardSchema> | undefined {
  if (world.plan.schemas === 'none' || topics.length === 0) return undefined
  const schema = world.plan.schemas === 'at once' ? quick : slow(world, process)
  return Object.fromEntries(world.plan.topics.map((topic) => [topic, schema]))
}

const quick: StandardSchema = { '~standard': { version: 1, vendor: 'simulation', validate: judge } }

function slow(world: World, process: SimulatedProcess): StandardSchema {
  const chance: Chance = world.chance.stream(`${process.name}/schema`)
  const validate = (value: unknown): Promise<SchemaResult<unknown>> =>
    new Promise((resolve) => {
      const laterMs = world.weather.isCalm ? 0 : chance.spread(1, LATER_MS_MAX)
      world.timeline.after(laterMs, process, () => resolve(judge(value)))
    })
  return { '~standard': { version: 1, vendor: 'simulation', validate } }
}

function judge(value: unknown): SchemaResult<unknown> {
  const isFit = typeof value !== 'object' || value === null || !('misfit' in value)
  return isFit ? { value } : { issues: [{ message: 'it does not fit' }] }
}
