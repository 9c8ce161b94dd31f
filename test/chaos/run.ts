/** One chaos run: a deployment under load, a fault at a time by the schedule of a seed, and the oracles at the end. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { receiver } from '../fixtures/webhook-receivers.ts'
import {
  AGENTS,
  BURST_CONSUMERS,
  BURST_LIMIT,
  createAccounts,
  MINUTE_CONSUMERS,
  MINUTE_LIMIT,
} from './accounts.ts'
import { now } from './backend.ts'
import { startChanges } from './changes.ts'
import { type FaultKind, faultOf } from './faults.ts'
import { type Load, startLoad } from './load.ts'
import { type Availability, checkAvailability } from './oracles/availability.ts'
import { checkBurst, checkMinutes } from './oracles/limits.ts'
import { checkMetering, type MeteringFound } from './oracles/metering.ts'
import { type LifetimeFigures, Pressure, Resources } from './oracles/resources.ts'
import { checkWebhooks, type WebhooksFound } from './oracles/webhooks.ts'
import { emptyRecord, type FaultRecord, type RunRecord } from './record.ts'
import { type Planned, scheduleOf } from './schedule.ts'
import { startSessions } from './sessions.ts'
import { type Member, registerDown, type System, startMember, startSystem } from './system.ts'

export interface ChaosOptions {
  readonly seed: number
  /** Duration of the faults; starting and judging come on top. */
  readonly forMs: number
  readonly everyMs: number
  readonly gateways: number
  readonly controls: number
  readonly kinds: readonly FaultKind[]
  /** Share of the usual pace of calls; 1 is about 120 a second. */
  readonly rate: number
  /** Gets the logs of the processes; a temporary directory, removed after a run without findings, when absent. */
  readonly dir?: string
  readonly progress?: (line: string) => void
}

export interface ChaosResult {
  readonly seed: number
  /** Empty when every oracle agrees. */
  readonly findings: readonly string[]
  readonly calls: number
  readonly skipped: number
  readonly faults: readonly Pick<FaultRecord, 'kind' | 'fromAt' | 'untilAt'>[]
  readonly availability: Omit<Availability, 'findings'>
  readonly highest: Readonly<Record<string, number>>
  /** Messages of refused calls at their limit, with how often. */
  readonly refused: Readonly<Record<string, number>>
  readonly metering: Omit<MeteringFound, 'findings'>
  readonly webhooks: Omit<WebhooksFound, 'findings'>
  readonly lifetimes: readonly LifetimeFigures[]
  /** Milliseconds from an acknowledged change until each gateway served it. */
  readonly propagation: { readonly changes: number; readonly p50: number; readonly max: number }
  /** Share of the time in which a process of the machine waited for a processor; times out of bounds say little when it is high. */
  readonly cpuPressure: number
  /** Directory with the logs of the processes and the failed calls. */
  readonly dir: string
}

const WARM_MS = 5_000
/** After the last fault, so that every part is in use again when the load ends. */
const QUIET_MS = 5_000
const PROGRESS_MS = 30_000
const WATCH_MS = 250

export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const dir = options.dir ?? mkdtempSync(join(tmpdir(), 'toolgate-chaos-'))
  const { progress = () => {} } = options
  const record = emptyRecord(options.seed)
  progress(`seed ${options.seed}: starting; logs in ${dir}`)
  const hook = await receiver()
  const system = await startSystem({ ...options, dir, agents: AGENTS })
  const members = [...system.controls, ...system.gateways]
  const resources = new Resources(members)
  const watch = new Watch(members, record)
  const pressure = new Pressure()
  let result: ChaosResult
  try {
    const accounts = await createAccounts(system, hook.url)
    const load = startLoad(system, accounts, record, options.rate)
    const others = [startChanges(system, accounts, record), startSessions(system, accounts, record)] as const
    await sleep(WARM_MS)
    await breakThings(system, record, options, () => progress(stateOf(record, load)))
    await sleep(QUIET_MS)
    await Promise.all([load, ...others].map(one => one.stop()))
    record.violations.push(...(await others[0].check()))
    watch.stop()
    resources.stop()
    progress('the load has ended; the oracles read topic, receiver and logs')
    const webhooks = await checkWebhooks(record.promised, hook.received)
    const metering = await checkMetering(() => system.kafka.read(system.topic), record)
    const failed = record.calls.filter(call => !call.ok).map(call => `${JSON.stringify(call)}\n`)
    writeFileSync(join(dir, 'failed-calls.ndjson'), failed.join(''))
    result = judge(system, record, { ...options, dir, load, webhooks, metering, resources, pressure })
  } finally {
    watch.stop()
    resources.stop()
    await system.stop()
    await hook.close()
  }
  // running processes would still write into it
  if (options.dir === undefined && result.findings.length === 0) rmSync(dir, { recursive: true, force: true })
  return result
}

async function breakThings(
  system: System,
  record: RunRecord,
  { seed, kinds, everyMs, forMs, progress = () => {} }: ChaosOptions,
  show: () => void,
): Promise<void> {
  const beganAt = performance.now()
  const timer = setInterval(show, PROGRESS_MS)
  const until = async (ms: number): Promise<void> => {
    await sleep(Math.max(0, beganAt + ms - performance.now()))
  }
  try {
    for (const planned of scheduleOf(seed, kinds, { everyMs, forMs })) {
      await until(planned.atMs)
      progress(`${(planned.atMs / 1000).toFixed(0)} s: ${describe(planned)}`)
      await breakOne(system, planned, record)
    }
    await until(forMs)
  } finally {
    clearInterval(timer)
  }
}

async function breakOne(system: System, planned: Planned, record: RunRecord): Promise<void> {
  const fault: FaultRecord = {
    kind: planned.kind,
    target: planned.target,
    fromAt: now(),
    untilAt: Number.POSITIVE_INFINITY,
  }
  record.faults.push(fault)
  const findings = await faultOf(planned.kind).run(system, planned)
  record.violations.push(...findings)
  fault.untilAt = now()
}

const describe = ({ kind, durationMs, target }: Planned): string =>
  `${kind}, ${(durationMs / 1000).toFixed(1)} s, target ${target}`

function stateOf({ calls, promised, violations }: RunRecord, load: Load): string {
  const failed = calls.filter(call => !call.ok).length
  return `${calls.length} calls (${failed} failed, with those that faults excuse), ${load.skipped()} skipped, ${promised.length} changes, ${violations.length} violations`
}

/** Finds processes that ended by themselves, and starts them again so that the run can go on. */
class Watch {
  readonly #timer: NodeJS.Timeout

  constructor(members: readonly Member[], record: RunRecord) {
    this.#timer = setInterval(() => {
      for (const member of members) {
        if (!member.up || member.process.running) continue
        registerDown(member)
        record.violations.push(`${member.name} ended by itself at ${new Date().toISOString()}.`)
        startMember(member).catch(error => record.violations.push(`${member.name}: ${error}`))
      }
    }, WATCH_MS)
  }

  stop(): void {
    clearInterval(this.#timer)
  }
}

function judge(
  system: System,
  record: RunRecord,
  parts: {
    readonly seed: number
    readonly dir: string
    readonly load: Load
    readonly webhooks: WebhooksFound
    readonly metering: MeteringFound
    readonly resources: Resources
    readonly pressure: Pressure
  },
): ChaosResult {
  const { findings: delivery, ...webhooks } = parts.webhooks
  const { findings: metered, ...metering } = parts.metering
  const { findings: grown, lifetimes } = parts.resources.figures()
  const seen = [...system.backends.main.calls, ...system.backends.side.calls]
  const propagation = record.propagationMs.toSorted((a, b) => a - b)
  const minutes = checkMinutes(seen, record.calls, MINUTE_CONSUMERS, MINUTE_LIMIT)
  const burst = checkBurst(seen, BURST_CONSUMERS, BURST_LIMIT)
  const { findings: unavailable, ...availability } = checkAvailability(record.calls, record.faults, [
    ...system.gateways,
    ...system.controls,
  ])
  return {
    seed: parts.seed,
    findings: [
      ...record.violations,
      ...minutes.findings,
      ...burst.findings,
      ...delivery,
      ...metered,
      ...unavailable,
      ...grown,
    ],
    calls: record.calls.length,
    skipped: parts.load.skipped(),
    faults: record.faults.map(({ kind, fromAt, untilAt }) => ({ kind, fromAt, untilAt })),
    availability,
    highest: { ...minutes.highest, ...burst.highest },
    refused: refusedOf(record),
    metering,
    webhooks,
    lifetimes,
    propagation: {
      changes: propagation.length,
      p50: Math.round(propagation[propagation.length >> 1] ?? 0),
      max: Math.round(propagation.at(-1) ?? 0),
    },
    cpuPressure: parts.pressure.share(),
    dir: parts.dir,
  }
}

function refusedOf({ calls }: RunRecord): Record<string, number> {
  const refused: Record<string, number> = {}
  for (const { kind, status, detail } of calls) {
    if ((kind !== 'minute' && kind !== 'burst') || status !== 429) continue
    const message = /"message":"([^"]*)/.exec(detail)?.[1] ?? detail
    refused[message] = (refused[message] ?? 0) + 1
  }
  return refused
}
