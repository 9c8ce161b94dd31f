/** The result of a profile as text and as JSON. */
import type { Origin } from './hot-functions.ts'
import type { Work } from './work.ts'

export interface ProfileReport {
  readonly work: Work
  readonly connections: number
  /** Correct responses during the profile. */
  readonly requests: number
  readonly requestsPerSecond: number
  /** User and system time of the whole process, profiler included, as counted by the operating system. */
  readonly cpuUsPerRequest: number
  /** Share of the time in which the serving thread was not idle, 0 to 1; includes waiting for a processor. */
  readonly busyShare: number
  /** By self time in descending order; shares are of the busy time, 0 to 1. */
  readonly functions: readonly {
    readonly name: string
    readonly place: string
    readonly origin: Origin
    readonly selfShare: number
    readonly totalShare: number
    /** Its share of the CPU time. Sample times are wall-clock times: on a busy machine they exceed the CPU time. */
    readonly cpuUsPerRequest: number
  }[]
  readonly profileFile: string
  readonly version: string
  readonly node: string
}

export function profileJson(report: ProfileReport): string {
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
    `${report.requests} requests, ${Math.round(report.requestsPerSecond)} per second`,
    `${report.cpuUsPerRequest.toFixed(1)} µs of CPU time per request; the serving thread was busy for ${percent(report.busyShare)} of the time`,
    '',
    ...table([['self', 'total', 'µs/req', 'function', 'where'], ...rows]),
    '',
    `profile: ${report.profileFile}`,
    'Open the profile as a flame graph in VS Code, in speedscope, or in the Performance panel of Chrome DevTools.',
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
