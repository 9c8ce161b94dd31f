/** Reports damaged files in the log and as a condition. It reads no file. */
import type { OnDamage } from '../../shared/fs/damage.ts'
import type { Log } from '../../shared/telemetry/log.ts'
import type { Conditions } from './conditions.ts'

/** Files that health names; the log names all. */
const MAX_NAMED = 3

export function createDamageReport(log: Log, conditions: Conditions): OnDamage {
  const reasons: string[] = []
  return (file, assumed) => {
    const reason = `${file} is damaged: ${assumed}`
    if (reasons.includes(reason)) return
    log.error(
      { file },
      `${reason}. Check the disk. /mcp/health reports this fault until the process is restarted`,
    )
    reasons.push(reason)
    const more = reasons.length > MAX_NAMED ? `; ${reasons.length - MAX_NAMED} more damaged files` : ''
    conditions.set('files', `${reasons.slice(0, MAX_NAMED).join('; ')}${more}`)
  }
}
