/**
 * Shows whether other programs used the processors while figures were taken: then a run makes no claim. It reads the accounting of the
 * kernel (proc(5)) and stops nothing; on other systems it knows nothing.
 */
import { readdirSync, readFileSync } from 'node:fs'

/** Share of all processors. What belongs to the kernel (interrupts of the load, writing to disk) stays below it. */
export const MAX_OTHERS = 0.08

/** Clock ticks since the start of the machine. */
interface Ticks {
  readonly all: number
  readonly busy: number
  /** For this process, of those it has started, and of those that have ended. */
  readonly own: number
}

export class Quietness {
  readonly #begin = ticks()

  /** Share of the processors that other programs, and other machines on the same hardware, have used since then; undefined: unknown. */
  othersShare(): number | undefined {
    const now = ticks()
    if (this.#begin === undefined || now === undefined || now.all <= this.#begin.all) return undefined
    const others = now.busy - this.#begin.busy - Math.max(0, now.own - this.#begin.own)
    return Math.max(0, others / (now.all - this.#begin.all))
  }
}

/** The sentence for a run on a machine that was not quiet; undefined where it was, or where that is unknown. */
export function noisyText(others: number | undefined): string | undefined {
  if (others === undefined || others <= MAX_OTHERS) return undefined
  return `The machine was not quiet: other programs used ${Math.round(others * 100)} % of its processors (at most ${MAX_OTHERS * 100} %). No claim is made; measure again.`
}

function ticks(): Ticks | undefined {
  try {
    const [user, nice, system, idle, iowait, irq, softirq, steal] = readFileSync('/proc/stat', 'utf8')
      .split('\n')[0]!
      .trim()
      .split(/\s+/)
      .slice(1)
      .map(Number) as [number, number, number, number, number, number, number, number]
    const busy = user + nice + system + irq + softirq + steal
    return { all: busy + idle + iowait, busy, own: ownTicks() }
  } catch {
    return undefined
  }
}

/** A process that has ended is counted by its parent. */
function ownTicks(): number {
  const processes = new Map<number, { readonly parent: number; readonly ticks: number }>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      // behind the name, which may hold spaces: state, parent, … from field 3 on
      const fields = readFileSync(`/proc/${name}/stat`, 'utf8')
        .replace(/^.*\) /s, '')
        .split(' ')
        .map(Number)
      processes.set(Number(name), { parent: fields[1]!, ticks: sum(fields.slice(11, 15)) })
    } catch {
      // it has ended meanwhile
    }
  }
  const isOwn = (pid: number): boolean => {
    for (let at = pid; at > 1; at = processes.get(at)?.parent ?? 0) if (at === process.pid) return true
    return false
  }
  return sum([...processes].map(([pid, { ticks: used }]) => (isOwn(pid) ? used : 0)))
}

const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0)
