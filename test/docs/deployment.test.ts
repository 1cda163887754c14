/** The files in docs/deployment: they can be read, and the commands in them are run as far as that goes without containers. */
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { COMMANDS } from '../../src/doors/cli/commands.ts'
import { fileEngine, mysqlEngine, postgresEngine, redisEngine, type Engine } from '../cli/engines.ts'
import { makePlace, type Place, type Running } from '../cli/punctual.ts'

const FOLDER = resolve(import.meta.dirname, '../../docs/deployment')
const read = (name: string): string => readFileSync(join(FOLDER, name), 'utf8')

type Service = {
  image?: string
  build?: string
  command?: string[]
  environment?: Record<string, string>
  volumes?: string[]
  ports?: string[]
  depends_on?: Record<string, { condition: string }>
  stop_grace_period?: string
}
type Compose = { services: Record<string, Service>; volumes: Record<string, null> }

const COMPOSE = readdirSync(FOLDER).filter((name) => name.startsWith('compose.'))
const SERVE = ['serve', '--host', '0.0.0.0', '--tokens', '/data/tokens.json']

describe.each(COMPOSE)('%s', (name) => {
  const { services, volumes } = parse(read(name)) as Compose

  it('names volumes and services that it has, and opens no port to others', () => {
    for (const { volumes: mounts = [], depends_on: needs = {}, ports = [], image, build } of Object.values(
      services,
    )) {
      for (const mount of mounts) expect(Object.keys(volumes)).toContain(mount.split(':')[0])
      for (const needed of Object.keys(needs)) expect(Object.keys(services)).toContain(needed)
      for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/)
      expect([image, build].filter((source) => source !== undefined)).toHaveLength(1)
    }
  })

  it('runs the server, with a key and time to stop', () => {
    const { punctual } = services
    expect(punctual?.command).toEqual(SERVE)
    expect(Object.keys(punctual?.environment ?? {})).toEqual(['PUNCTUAL_STORE', 'PUNCTUAL_SERVER_KEY'])
    expect(Number.parseInt(punctual?.stop_grace_period ?? '', 10)).toBeGreaterThan(5)
    for (const { command, build } of Object.values(services))
      if (build === '.') expect(Object.keys(COMMANDS)).toContain(command?.[0])
  })
})

it('the Dockerfile has its commands without a shell, and a store on its volume', () => {
  const text = read('Dockerfile')
  const words = (instruction: string): unknown =>
    JSON.parse(new RegExp(`^\\s*${instruction} (\\[.*\\])$`, 'm').exec(text)?.[1] ?? 'null')
  expect(words('ENTRYPOINT')).toEqual(['punctual'])
  expect(text).toContain(`CMD ${JSON.stringify(SERVE).replaceAll(',', ', ')}`)
  expect(text).toMatch(/^ENV PUNCTUAL_STORE=file:\/data\/store$/m)
  expect(text).toMatch(/^VOLUME \/data$/m)
  expect(text).toMatch(/^USER node$/m)
})

it('Kubernetes asks for paths that exist, and gives more time than a stop takes', () => {
  const documents = parseAllDocuments(read('kubernetes.yml')).map((document) => {
    expect(document.errors).toEqual([])
    return document.toJS() as Record<string, never>
  })
  expect(documents.map(({ kind }) => kind)).toEqual(['Secret', 'Deployment', 'Service', 'Deployment'])
  const [secret, server, service, worker] = documents as unknown as [Manifest, Manifest, Manifest, Manifest]
  const { containers, terminationGracePeriodSeconds: grace } = server.spec.template.spec
  const [{ args, env, ports, livenessProbe, readinessProbe }] = containers
  expect(args).toEqual([...SERVE.slice(0, -1), '/etc/punctual/tokens.json'])
  for (const { valueFrom } of env)
    expect(Object.keys(secret.stringData)).toContain(valueFrom.secretKeyRef.key)
  expect([livenessProbe.httpGet.path, readinessProbe.httpGet.path]).toEqual(['/healthz', '/readyz'])
  expect(service.spec.ports[0].targetPort).toBe(ports[0].name)
  expect(service.spec.selector).toEqual(server.spec.template.metadata.labels)
  expect(grace).toBeGreaterThan(5 + 5)
  expect(worker.spec.template.spec.terminationGracePeriodSeconds).toBeGreaterThan(30)
  const [{ args: work, livenessProbe: probe, ports: theirs }] = worker.spec.template.spec.containers
  expect(work).toEqual(['work', 'handlers.js', '--health', String(theirs[0].containerPort)])
  expect([probe.httpGet.path, probe.httpGet.port]).toEqual(['/healthz', theirs[0].name])
})

/** What is asked of the documents above. */
type Manifest = {
  stringData: Record<string, string>
  spec: {
    selector: unknown
    ports: [{ targetPort: string }]
    template: {
      metadata: { labels: unknown }
      spec: {
        terminationGracePeriodSeconds: number
        containers: [
          {
            args: string[]
            env: { valueFrom: { secretKeyRef: { key: string } } }[]
            ports: [{ name: string; containerPort: number }]
            livenessProbe: { httpGet: { path: string; port: string } }
            readinessProbe: { httpGet: { path: string } }
          },
        ]
      }
    }
  }
}

it('systemd starts a command that exists, and gives it time to stop', () => {
  const text = read('punctual.service')
  const value = (key: string): string => new RegExp(`^${key}=(.*)$`, 'm').exec(text)?.[1] ?? ''
  const [program, command, ...words] = value('ExecStart').split(' ')
  expect([program, command]).toEqual(['/usr/bin/punctual', 'serve'])
  expect(words.filter((word) => word.startsWith('--'))).toEqual(['--host', '--port', '--tokens'])
  expect(Number(value('TimeoutStopSec'))).toBeGreaterThan(5)
  for (const section of ['Unit', 'Service', 'Install']) expect(text).toContain(`[${section}]`)
})

const ENGINES = [fileEngine(), redisEngine(), postgresEngine(), mysqlEngine()].filter(
  ({ isMissing }) => !isMissing,
)
afterAll(() => Promise.all(ENGINES.map(({ stop }) => stop())))

/** As the container would run it, but on loopback, a free port and files beside the test. */
function localWords(words: readonly string[]): string[] {
  return words.map((word) => word.replace('0.0.0.0', '127.0.0.1').replace('/data/', './'))
}

async function startServer(place: Place): Promise<{ running: Running; base: string }> {
  const env = { PUNCTUAL_SERVER_KEY: 'a key of some length' }
  const running = place.start([...localWords(SERVE), '--port', '0'], { env })
  await expect.poll(() => running.stdout, { timeout: 60_000 }).toMatch(/http:/)
  return { running, base: /http:\/\/[\d.]+:\d+/.exec(running.stdout)?.[0] ?? '' }
}

describe.each(ENGINES)('the commands of the container on $name', (engine: Engine) => {
  it('make a token, migrate, serve, are healthy, and end at SIGTERM', async () => {
    const place = await makePlace(await engine.store())
    const added = localWords('token add ops --scope read --scope operate --file /data/tokens.json'.split(' '))
    for (const name of COMPOSE.filter((file) => read(file).includes('token add')))
      expect(read(name)).toContain('token add ops --scope read --scope operate --file /data/tokens.json')
    expect((await place.run(added)).code).toBe(0)
    if (['postgres', 'mysql'].includes(engine.name)) expect((await place.run(['migrate'])).code).toBe(0)
    const { running, base } = await startServer(place)
    for (const path of ['/healthz', '/readyz']) expect((await fetch(base + path)).status, path).toBe(200)
    expect((await fetch(`${base}/metrics`)).status).toBe(401)
    const [, program, script] = JSON.parse(
      /CMD (\["node".*\])$/m.exec(read('Dockerfile'))?.[1] ?? '[]',
    ) as string[]
    const check = (script ?? '').replace('http://127.0.0.1:7780', base)
    await promisify(execFile)(process.execPath, [program ?? '', check])
    running.child.kill('SIGTERM')
    expect((await running.ended).code).toBe(0)
    await expect(promisify(execFile)(process.execPath, [program ?? '', check])).rejects.toMatchObject({
      code: 1,
    })
  })
})
