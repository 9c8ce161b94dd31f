/** Clocks that follow the time of Redis once it is known. */
import type { QuotaTable } from '../memory/table.ts'
import type { Clocks } from '../memory/table-quota.ts'

/** Before the first response of Redis: the time of the request, and the clock of this machine. */
export function storeClocks(
  table: () => QuotaTable | undefined,
): Required<Pick<Clocks, 'unixMs' | 'calendarMs'>> {
  function storeMs(): number | undefined {
    const own = table()
    return own === undefined || own.unixOffsetMs === 0
      ? undefined
      : Math.floor(own.nowMs() + own.unixOffsetMs)
  }
  return { unixMs: () => storeMs() ?? Date.now(), calendarMs: nowMs => storeMs() ?? nowMs }
}
