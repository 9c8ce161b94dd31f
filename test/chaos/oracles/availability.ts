/** Share of the calls that succeeded, of those that needed no broken part. It judges calls by the times of faults and of stopped processes. */
import { faultOf } from '../faults.ts'
import type { CallRecord, FaultRecord, Kind } from '../record.ts'
import type { Member } from '../system.ts'

const MIN_AVAILABILITY = 0.999
const MAX_EXAMPLES = 10

export interface Availability {
  readonly findings: readonly string[]
  readonly share: number
  readonly counted: number
  readonly failed: number
  /** Calls that needed a broken part or a stopped process. */
  readonly exempt: number
  readonly byKind: Readonly<Record<string, { counted: number; failed: number; exempt: number }>>
  /** Per kind of fault, the longest time after its end in which a call that needed the part failed. */
  readonly recoveryMs: Readonly<Record<string, number>>
}

interface Exemption {
  readonly kinds: ReadonlySet<Kind> | undefined
  readonly member: string | undefined
  readonly fromAt: number
  readonly untilAt: number
}

export function checkAvailability(
  calls: readonly CallRecord[],
  faults: readonly FaultRecord[],
  members: readonly Pick<Member, 'name' | 'downtimes'>[],
): Availability {
  const exemptions = [...ofFaults(faults), ...ofDowntimes(members)]
  const byKind: Record<string, { counted: number; failed: number; exempt: number }> = {}
  const failures: CallRecord[] = []
  const recoveryMs: Record<string, number> = {}
  for (const call of calls) {
    byKind[call.kind] ??= { counted: 0, failed: 0, exempt: 0 }
    const row = byKind[call.kind]!
    if (exemptions.some(exemption => applies(exemption, call))) {
      row.exempt++
      if (!call.ok) registerRecovery(recoveryMs, call, faults)
    } else {
      row.counted++
      if (call.ok) continue
      row.failed++
      failures.push(call)
    }
  }
  const rows = Object.values(byKind)
  const sum = (field: 'counted' | 'failed' | 'exempt'): number =>
    rows.reduce((all, row) => all + row[field], 0)
  const counted = sum('counted')
  const share = counted === 0 ? 0 : 1 - failures.length / counted
  const findings: string[] = []
  if (share < MIN_AVAILABILITY)
    findings.push(
      `${failures.length} of ${counted} calls that needed no broken part failed (${(100 * share).toFixed(3)} %).`,
    )
  for (const [kind, row] of Object.entries(byKind))
    if (row.counted === 0) findings.push(`No call of kind ${kind} was counted.`)
  return {
    findings: [...findings, ...failures.slice(0, MAX_EXAMPLES).map(call => describe(call, faults))],
    share,
    counted,
    failed: failures.length,
    exempt: sum('exempt'),
    byKind,
    recoveryMs,
  }
}

function ofFaults(faults: readonly FaultRecord[]): Exemption[] {
  return faults.map(({ kind, fromAt, untilAt }) => {
    const { needs, recoveryMs } = faultOf(kind)
    return { kinds: new Set(needs), member: undefined, fromAt, untilAt: untilAt + recoveryMs }
  })
}

function ofDowntimes(members: readonly Pick<Member, 'name' | 'downtimes'>[]): Exemption[] {
  return members.flatMap(({ name, downtimes }) =>
    downtimes.map(downtime => ({ ...downtime, kinds: undefined, member: name })),
  )
}

function applies({ kinds, member, fromAt, untilAt }: Exemption, call: CallRecord): boolean {
  return (
    call.endedAt >= fromAt &&
    call.startedAt <= untilAt &&
    (member === undefined || member === call.member) &&
    (kinds === undefined || kinds.has(call.kind))
  )
}

function registerRecovery(
  recoveryMs: Record<string, number>,
  call: CallRecord,
  faults: readonly FaultRecord[],
): void {
  const fault = faults.findLast(({ fromAt }) => fromAt <= call.endedAt)
  if (fault === undefined || !faultOf(fault.kind).needs.includes(call.kind)) return
  recoveryMs[fault.kind] = Math.round(Math.max(recoveryMs[fault.kind] ?? 0, call.startedAt - fault.untilAt))
}

/** The fault that lasted or was the last before the call, with the seconds since it began. */
function describe(call: CallRecord, faults: readonly FaultRecord[]): string {
  const fault = faults.findLast(({ fromAt }) => fromAt <= call.endedAt)
  const during =
    fault === undefined
      ? 'before the first fault'
      : `${((call.endedAt - fault.fromAt) / 1000).toFixed(1)} s after ${fault.kind} began (it lasted ${((fault.untilAt - fault.fromAt) / 1000).toFixed(1)} s)`
  return `${call.kind} ${call.id} at ${call.member} took ${Math.round(call.endedAt - call.startedAt)} ms: ${call.status} ${call.detail} – ${during}.`
}
