/**
 * What an operator should know about a Redis that keeps messages: will it evict them, lose them in a restart, or
 * tell the time differently from one moment to the next. Managed servers and narrow users hide some of the answers;
 * then the finding says what could not be seen.
 */
import type { Clock } from '../../../clock.ts'
import { fine, problem, warning } from '../../contract/findings.ts'
import type { Finding } from '../../contract/store.ts'
import { ask, configOf, hidden, parseInfo } from './questions.ts'
import type { Durability } from '../replicated/durability.ts'
import type { Calls } from '../scripts/calls.ts'
import { examineReplication } from './replication.ts'
import { examineSentinels } from './sentinel.ts'
import type { Sentinels } from '../sentinel/sentinels.ts'

const SKEW_MS_MAX = 1000
const VERSION_MIN = [6, 2] as const
const MEMORY_SHARE_MAX = 0.9

const EMPTY_RESTART: Finding = warning(
  'a primary without appendonly that is restarted before a failover comes back empty, and empties its replicas',
  'set appendonly yes on every server, or let no supervisor restart them at once',
)

export type Patient = {
  readonly calls: Calls
  readonly clock: Clock
  readonly durability: Durability
  readonly sentinels: Sentinels | undefined
}

export async function examine({ calls, clock, durability, sentinels }: Patient): Promise<Finding[]> {
  return [
    ...(await examineInfo(calls, durability)),
    ...(await examineEviction(calls)),
    ...(sentinels === undefined ? [] : await examineSentinels(sentinels)),
    await examineClock(calls, clock),
  ]
}

async function examineInfo(calls: Calls, durability: Durability): Promise<Finding[]> {
  const info = await ask(calls, ['INFO'])
  if (typeof info !== 'string') {
    return [hidden('INFO', 'version, persistence, memory and role')]
  }
  const fields = parseInfo(info)
  return [
    versionFinding(fields),
    ...(await examineReplication(calls, fields, durability)),
    ...persistenceFindings(fields, durability),
    ...memoryFindings(fields),
  ]
}

function versionFinding(info: ReadonlyMap<string, string>): Finding {
  const valkey = info.get('valkey_version')
  const version = valkey ?? info.get('redis_version') ?? 'unknown'
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const name = valkey === undefined ? 'Redis' : 'Valkey'
  const isOld =
    valkey === undefined && (major < VERSION_MIN[0] || (major === VERSION_MIN[0] && minor < VERSION_MIN[1]))
  if (!isOld) return fine(`${name} ${version}`)
  return problem(
    `${name} ${version} is older than ${VERSION_MIN.join('.')}, which punctual is written for`,
    'upgrade the server',
  )
}

function persistenceFindings(info: ReadonlyMap<string, string>, durability: Durability): Finding[] {
  const findings: Finding[] = []
  const isAof = info.get('aof_enabled') === '1'
  if (info.get('rdb_last_bgsave_status') === 'err' || info.get('aof_last_write_status') === 'err') {
    findings.push(
      problem(
        'the last write to disk failed',
        'look at the server’s log and its disk; until then a restart loses messages',
      ),
    )
  }
  if (isAof) return findings
  return [
    ...findings,
    warning(
      'appendonly is off: a crash of the server loses what came after its last snapshot, or everything',
      'set appendonly yes, with appendfsync always where no accepted message may be lost',
    ),
    ...(durability.kind === 'replicated' ? [EMPTY_RESTART] : []),
  ]
}

function memoryFindings(info: ReadonlyMap<string, string>): Finding[] {
  const used = Number(info.get('used_memory') ?? 0)
  const limit = Number(info.get('maxmemory') ?? 0)
  if (limit === 0 || used < limit * MEMORY_SHARE_MAX) return []
  return [
    warning(
      `${Math.round((used / limit) * 100)} % of maxmemory is used: at 100 % new messages are refused`,
      'raise maxmemory or work off messages',
    ),
  ]
}

/** `maxmemory-policy` and `appendfsync` are settings, not facts: only CONFIG tells them reliably. */
async function examineEviction(calls: Calls): Promise<Finding[]> {
  const policy = await configOf(calls, 'maxmemory-policy')
  const fsync = await configOf(calls, 'appendfsync')
  if (policy === undefined || fsync === undefined)
    return [hidden('CONFIG', 'maxmemory-policy and appendfsync')]
  const findings: Finding[] = []
  if (policy !== 'noeviction') {
    findings.push(
      problem(
        `maxmemory-policy is ${policy}: a server short of memory silently drops messages`,
        'set maxmemory-policy noeviction',
      ),
    )
  }
  const append = await configOf(calls, 'appendonly')
  if (append === 'yes' && fsync !== 'always') {
    findings.push(
      fine(
        `appendfsync is ${fsync}: a power cut may lose about the last second; "always" loses nothing accepted`,
      ),
    )
  }
  return findings
}

/** Times are the server's own, so a difference is harmless; it is told because `at` comes from other clocks. */
async function examineClock(calls: Calls, clock: Clock): Promise<Finding> {
  const before = clock.now()
  const reply = await ask(calls, ['TIME'])
  if (!Array.isArray(reply)) return hidden('TIME', 'its clock, which every script reads')
  const [seconds, micros] = reply as [string, string]
  const skewMs = Number(seconds) * 1000 + Number(micros) / 1000 - (before + clock.now()) / 2
  if (Math.abs(skewMs) < SKEW_MS_MAX) return fine('its clock agrees with ours')
  const side = skewMs > 0 ? 'ahead of' : 'behind'
  return warning(
    `its clock is ${Math.round(Math.abs(skewMs))} ms ${side} ours: delays are exact, an "at" is kept by its clock`,
    'let NTP run on both machines',
  )
}
