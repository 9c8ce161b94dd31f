/** Child processes that keep processors busy, bounded in number and time. They end by themselves even if this process is killed. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

const MAX_CHILDREN = 64
const SPIN = 'const until = Date.now() + Number(process.argv[1]); while (Date.now() < until);'

export interface Busy {
  stop(): Promise<void>
}

/** @param forMs after which each ends */
export function startBusy(count: number, forMs: number): Busy {
  if (count > MAX_CHILDREN) throw new Error(`at most ${MAX_CHILDREN} busy processes`)
  const children: ChildProcess[] = Array.from({ length: count }, () =>
    spawn(process.execPath, ['-e', SPIN, String(forMs)], { stdio: 'ignore' }),
  )
  return {
    async stop() {
      await Promise.all(
        children.map(async child => {
          if (child.exitCode !== null || child.signalCode !== null) return
          const ended = once(child, 'exit')
          child.kill('SIGKILL')
          await ended
        }),
      )
    },
  }
}
