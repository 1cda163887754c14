/** Whether the places of keys on a server agree with each other: what is wrong, in words. */
import { createClient } from 'redis'

export type Client = Awaited<ReturnType<typeof connect>>
type Set = ReadonlyMap<string, number>

export function connect(url: string) {
  return createClient({ url }).connect()
}

export async function disagreements(client: Client, queue: string): Promise<string[]> {
  const prefix = `punctual:2:{${queue}}:`
  const names = (await client.keys('*'))
    .filter((name) => name.startsWith(prefix))
    .map((name) => name.slice(prefix.length))
  const read = async (name: string): Promise<Set> =>
    new Map((await client.zRangeWithScores(prefix + name, 0, -1)).map(({ value, score }) => [value, score]))
  const sets = new Map<string, Set>()
  for (const name of names)
    if (/^(?:line|turns|keys|heads|lines|held)/.test(name)) sets.set(name, await read(name))
  const set = (name: string): Set => sets.get(name) ?? new Map()
  const hash = async (name: string): Promise<Record<string, string>> => ({
    ...(await client.hGetAll(prefix + name)),
  })
  const found: string[] = []
  const own = names.filter((name) => /^line:[^\v]+\v[^:].*:\d$/s.test(name))
  const topics = new Set(own.map((name) => /^line:([^\v]+)/.exec(name)?.[1] ?? ''))
  for (const topic of topics) {
    const counts = await hash(`counts:${topic}`)
    for (const rank of ['0', '1', '2']) {
      const lines = own.filter((name) => name.startsWith(`line:${topic}\v`) && name.endsWith(`:${rank}`))
      const all = new Map(lines.flatMap((name) => [...set(name)]))
      const listed = set(`line:${topic}\v:${rank}`)
      if (show(all) !== show(listed)) found.push(`${topic} ${rank} lists ${show(listed)} for ${show(all)}`)
      const head = set('heads').get(`${prefix}line:${topic}\v:${rank}`)
      if (head !== [...listed.values()][0]) found.push(`${topic} ${rank}: the head is ${head}`)
      const turns = set(`turns:${topic}:${rank}`)
      if (set('turns').get(`${topic}:${rank}`) !== [...turns.values()][0])
        found.push(`${topic} ${rank}: the first turn is ${[...turns.values()][0]}`)
      for (const name of lines) {
        const key = name.slice(`line:${topic}\v`.length, -2)
        const due = [...set(name).values()][0] ?? 0
        const turn = turns.get(key)
        if (!set(`keys:${topic}`).has(key)) found.push(`${topic}: ${key} is not listed`)
        if (turn === undefined && counts[key] === undefined)
          found.push(`${topic} ${rank}: ${key} has no turn`)
        if (turn !== undefined && turn < due && !sets.has(`held:${topic}\v${key}`))
          found.push(`${topic} ${rank}: ${key} has the turn ${turn} for ${due}`)
      }
      for (const key of turns.keys())
        if (!lines.includes(`line:${topic}\v${key}:${rank}`))
          found.push(`${topic} ${rank}: ${key} has a turn and nothing else`)
    }
  }
  return found
}

function show(set: Set): string {
  return [...set.entries()]
    .map(([member, score]) => `${member} ${score}`)
    .toSorted()
    .join(', ')
}
