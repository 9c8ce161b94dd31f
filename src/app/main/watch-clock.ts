/** Reports a clock of this process that differs from the clock of the database, or of the control plane. */
import type { AppContext } from './app-context.ts'

/** Far below the 30 s of leeway for tokens, far above what a synchronised clock is off. */
const MAX_DIFFERENCE_MS = 10_000

/**
 * @param onChange called with what is different, and with undefined once it is not
 * @returns what is called with how far the clock of this process is ahead, in ms
 */
export function watchClock(
  { conditions, log }: Pick<AppContext, 'conditions' | 'log'>,
  other: 'control plane' | 'database',
  onChange?: (fault: string | undefined) => void,
): (aheadMs: number) => void {
  let isDifferent = false
  return aheadMs => {
    if (Math.abs(aheadMs) > MAX_DIFFERENCE_MS === isDifferent) return
    isDifferent = !isDifferent
    const secs = Math.round(Math.abs(aheadMs) / 1000)
    const fault = isDifferent
      ? `the clock of this process is ${secs} s ${aheadMs > 0 ? 'ahead of' : 'behind'} the clock of the ${other}: synchronise both (NTP)`
      : undefined
    conditions.set(`clock of the ${other}`, fault)
    onChange?.(fault)
    if (fault === undefined)
      log.info({ aheadMs }, `the clocks of this process and of the ${other} agree again`)
    else log.error({ aheadMs }, fault)
  }
}
