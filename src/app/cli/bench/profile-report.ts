/** What a profile found, as text for people and as JSON. It measures nothing. */
import type { Origin } from './call-tree.ts'
import type { Work } from './work.ts'

export interface ProfileReport {
  readonly work: Work
  readonly connections: number
  /** Right answers while the profiler ran. */
  readonly requests: number
  readonly requestsPerSecond: number
  /** User and system time of the whole process, by the kernel's accounting; the profiler's own cost is in it. */
  readonly cpuUsPerRequest: number
  /** Share of the time in which the thread that serves was not idle, 0 to 1; waiting for a processor is in it. */
  readonly busyShare: number
  /** Most time of their own first; shares are of the busy time, 0 to 1. */
  readonly functions: readonly {
    readonly name: string
    readonly place: string
    readonly origin: Origin
    readonly selfShare: number
    readonly totalShare: number
    /** Its share of the CPU time: samples are taken by the clock, and on a busy machine the clock runs on without the process. */
    readonly cpuUsPerRequest: number
  }[]
  readonly profileFile: string
  readonly htmlFile: string
  readonly htmlUrl: string
  readonly version: string
  readonly node: string
}

export function jsonReport(report: ProfileReport): string {
  return `${JSON.stringify(report)}\n`
}

export function textReport(report: ProfileReport): string {
  const rows = report.functions.map(({ name, place, selfShare, totalShare, cpuUsPerRequest }) => [
    percent(selfShare),
    percent(totalShare),
    cpuUsPerRequest.toFixed(2),
    name,
    place,
  ])
  return [
    `toolgate ${report.version}, Node ${report.node}, work "${report.work}", ${report.connections} connections`,
    `${report.requests} requests, ${Math.round(report.requestsPerSecond)} a second`,
    `${report.cpuUsPerRequest.toFixed(1)} µs of CPU time per request; the thread that serves was busy for ${percent(report.busyShare)} of the time`,
    '',
    ...table([['self', 'total', 'µs/req', 'function', 'where'], ...rows]),
    '',
    `flame graph  ${report.htmlUrl}`,
    `profile      ${report.profileFile}`,
    '',
  ].join('\n')
}

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`

/** The first three columns are numbers. */
function table(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map(row => row[column]!.length)))
  return rows.map(row =>
    row
      .map((cell, column) => (column < 3 ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!)))
      .join('  ')
      .trimEnd(),
  )
}
