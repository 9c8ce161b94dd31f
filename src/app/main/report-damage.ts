/** Reports files that are damaged or cannot be read, in the log and as a condition. */
import type { OnDamage } from '../../base/fs/damage.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Conditions } from './conditions.ts'

/** Files that health names; the log names all. */
const MAX_NAMED = 3
const REFUSED = ['EACCES', 'EPERM']

export function createDamageReport(log: Log, conditions: Conditions): OnDamage {
  const reasons: string[] = []
  return (file, assumed, error) => {
    const what = error === undefined ? 'is damaged' : `cannot be read (${error.message})`
    const reason = `${file} ${what}: ${assumed}`
    if (reasons.includes(reason)) return
    log.error(
      { file },
      `${reason}. ${fixOf(error)}. /mcp/health reports this fault until the process is restarted`,
    )
    reasons.push(reason)
    const more = reasons.length > MAX_NAMED ? `; ${reasons.length - MAX_NAMED} more files` : ''
    conditions.set('files', `${reasons.slice(0, MAX_NAMED).join('; ')}${more}`)
  }
}

function fixOf(error: NodeJS.ErrnoException | undefined): string {
  if (error === undefined) return 'Check the disk'
  return REFUSED.includes(error.code ?? '')
    ? 'Give the user that runs the gateway read permission for the file and its folders'
    : 'Check that it is a file, and check the disk'
}
