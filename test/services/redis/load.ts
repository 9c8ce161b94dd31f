/** Starts several instances on one Redis, lets them begin together, and adds up their reports. The load itself is in `load-instance.ts`. */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { PlanLimits } from '../../../src/model/plan.ts'
import type { RedisTarget } from '../../../src/net/redis/servers.ts'
import { bundledScript } from '../../fixtures/bundled-script.ts'
import type { Span } from '../../unit/data-plane/kernel/window/oracle.ts'

const INSTANCE = join(import.meta.dirname, 'load-instance.ts')

export interface LoadJob {
  readonly redis: RedisTarget
  readonly keyPrefix: string
  readonly key: string
  readonly limits: PlanLimits
  readonly tool?: { readonly requestsPerMinute: number; readonly burst: number }
  readonly dir?: string
  readonly seconds: number
  /** Calls that begin together, every `everyMs` milliseconds. */
  readonly atOnce: number
  readonly everyMs: number
  /** How long a granted call stays in flight; absent: no time. */
  readonly holdMs?: number
}

export interface LoadReport {
  /** Each was admitted between these two, in milliseconds of the machine's monotonic clock. */
  grants: [number, number][]
  calls: number
  /** Calls that waited for Redis. */
  waited: number
  /** Longest wait of a call that has ended; calls without an outcome are not counted. */
  longestMs: number
  /** Longest delay of the process's own event loop. */
  lagMs: number
  /** When calls that were held ended. */
  ends: number[]
}

export interface Load {
  /** Lets all begin at once. */
  go(): void
  readonly reports: Promise<LoadReport[]>
  /** For each instance so far; late by a tenth of a second. */
  readonly granted: readonly number[]
  /** Ends all before their seconds are over. */
  stop(): void
  kill(instance: number): void
}

/** Resolves when all instances are ready. */
export async function prepareLoad(instances: number, job: LoadJob): Promise<Load> {
  const script = await bundledScript(INSTANCE)
  const children: ChildProcess[] = []
  const reports: Promise<LoadReport>[] = []
  const ready: Promise<void>[] = []
  const granted: number[] = []
  for (let i = 0; i < instances; i++) {
    const own = job.dir === undefined ? job : { ...job, dir: `${job.dir}-${i}` }
    const child = spawn(process.execPath, [script, JSON.stringify(own)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    children.push(child)
    // one that was killed reads no more
    child.stdin!.on('error', () => {})
    granted.push(0)
    const lines = createInterface({ input: child.stdout! })
    ready.push(new Promise(resolve => lines.once('line', () => resolve())))
    reports.push(
      new Promise(resolve => {
        let report: LoadReport = { grants: [], calls: 0, waited: 0, longestMs: 0, lagMs: 0, ends: [] }
        lines.on('line', line => {
          if (line.startsWith('{')) report = JSON.parse(line) as LoadReport
          else if (line.startsWith('granted ')) granted[i] = Number(line.slice(8))
        })
        child.once('close', () => resolve(report))
      }),
    )
  }
  await Promise.all(ready)
  return {
    go: () => {
      for (const child of children) child.stdin!.write('go\n')
    },
    reports: Promise.all(reports),
    granted,
    stop: () => {
      for (const child of children) child.stdin!.write('stop\n')
    },
    kill: instance => children[instance]!.kill('SIGKILL'),
  }
}

/** All grants of all instances. */
export function together(reports: readonly LoadReport[]): Span[] {
  return reports.flatMap(report => report.grants.map(([from, to]) => ({ from, to })))
}

export function sum(reports: readonly LoadReport[], field: 'calls' | 'waited'): number {
  return reports.reduce((total, report) => total + report[field], 0)
}
