/** The figures of the contention benchmark as tables, with the words they need; those of syncs and connections are simulated here. It measures nothing. */
import { grid } from '../grid.ts'
import { shown } from '../units.ts'
import { type AskResult, simulateSyncs } from './asks.ts'
import { COSTS } from './caches.ts'
import { busiestShare } from './connections.ts'
import type { AskFigures } from './measure-asks.ts'
import type { SimulationResult } from './simulate.ts'
import type { Validation } from './validate.ts'

export const THREADS = [1, 2, 4, 8, 16] as const

export const ASSUMPTIONS = [
  `Assumed: a load or store takes ${COSTS.hitNs} ns in the own cache, ${COSTS.atomicNs} ns more if atomic; a line that another core has changed, or whose copies are`,
  `invalidated, ${COSTS.transferNs} ns (published for one node of server processors: 60 to 100), an unchanged one ${COSTS.cleanNs} ns, one from memory ${COSTS.memoryNs} ns. Lines of`,
  '64 bytes, private caches of 1 MiB, one NUMA node. Nothing overlaps, so waiting for lines is an upper bound. Simulated, not measured.',
].join('\n')

export const percent = (share: number, digits = 1): string => `${(share * 100).toFixed(digits)} %`

export interface SimulatedRow {
  readonly workload: string
  readonly privateUs: number
  readonly threads: number
  readonly result: SimulationResult
}

export function simulationTable(rows: readonly SimulatedRow[]): string {
  /** Where one thread was simulated too. */
  const ofOne = (
    workload: string,
    privateUs: number,
    threads: number,
    { callsPerSec }: SimulationResult,
  ): string => {
    const one = rows.find(
      row => row.workload === workload && row.privateUs === privateUs && row.threads === 1,
    )
    return one === undefined ? '' : percent(callsPerSec / (threads * one.result.callsPerSec))
  }
  const head = [
    'workload',
    'private',
    'threads',
    'calls/s',
    'of N × one',
    'waiting',
    'sleeps per call',
    'where it waits',
  ]
  return grid(
    head,
    rows.map(({ workload, privateUs, threads, result }) => [
      workload,
      `${privateUs} µs`,
      String(threads),
      shown(result.callsPerSec, ''),
      ofOne(workload, privateUs, threads, result),
      percent(1 - result.efficiency),
      result.sleepsPerCall.toFixed(4),
      hottest(result),
    ]),
    [1, 2, 3, 4, 5, 6],
  )
}

/** The fields with the largest shares of the time of all threads. */
export function hottest({ byField }: SimulationResult, count = 4): string {
  return [...byField]
    .sort(([, a], [, b]) => b - a)
    .slice(0, count)
    .map(([field, share]) => `${field} ${percent(share, 2)}`)
    .join(', ')
}

export function validationTable({ rows, oneWayNs, fittedNs, lockTimes }: Validation): string {
  const ns = (value: number): string => (Number.isNaN(value) ? 'unknown' : `${value.toFixed(0)} ns`)
  const body = rows.map(({ what, threads, measured, fittedCallNs, assumedCallNs }) => [
    what,
    String(threads),
    ns(measured.callNs),
    String(measured.batches),
    ns(fittedCallNs),
    ns(assumedCallNs),
    measured.sleepsPerCall.toFixed(5),
  ])
  const head = [
    'what',
    'threads',
    'measured',
    'batches',
    `${fittedNs} ns`,
    `${COSTS.transferNs} ns`,
    'sleeps per call',
  ]
  return [
    grid(head, body, [1, 2, 3, 4, 5, 6]),
    `${fittedNs} ns is the transfer cost that fits the two threads on one consumer. A line passed to the other processor takes ${ns(oneWayNs)} one way`,
    `(a load and an upgrade). The kernel tries a lock for ${ns(lockTimes.spinNs)}; then its host sleeps for ${shown(lockTimes.sleepNs, 'ns')}.`,
  ].join('\n')
}

export interface AskRow {
  readonly what: string
  readonly threads: number
  readonly result: AskResult
}

export function askTable(rows: readonly AskRow[], figures: Readonly<Record<string, AskFigures>>): string {
  const body = rows.map(({ what, threads, result }) => [
    what,
    String(threads),
    shown(result.callsPerSec, ''),
    percent(result.efficiency),
    shown(result.asksPerSec, ''),
    percent(result.mainUtilization, 0),
    shown(result.p99WaitUs, 'µs'),
  ])
  const head = ['what', 'threads', 'calls/s', 'efficiency', 'requests/s', 'main thread', 'p99 of a request']
  return [
    grid(head, body, [1, 2, 3, 4, 5, 6]),
    ...Object.entries(figures).map(
      ([what, { serviceUs, askUs }]) =>
        `measured: a request for a ${what} takes ${shown(serviceUs, 'µs')} of the main thread and ${shown(askUs, 'µs')} of the other`,
    ),
  ].join('\n')
}

export function syncTable(syncsMs: readonly number[]): string {
  const rows = THREADS.map(threads => [
    String(threads),
    ...syncsMs.map(syncMs => {
      const { periodMs, poolUtilization } = simulateSyncs(threads, syncMs)
      return `${(periodMs + syncMs).toFixed(1)} ms (pool ${percent(poolUtilization, 0)})`
    }),
  ])
  return grid(['threads', ...syncsMs.map(ms => `fdatasync ${ms} ms`)], rows, [0, 1, 2, 3])
}

export function spreadTable(connections: readonly number[]): string {
  const rows = connections.map(count => [
    String(count),
    ...THREADS.slice(1).map(threads => busiestShare(count, threads, 1).toFixed(2)),
  ])
  return grid(
    ['connections', ...THREADS.slice(1).map(threads => `${threads} threads`)],
    rows,
    [0, 1, 2, 3, 4],
  )
}
