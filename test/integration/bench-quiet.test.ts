/** Whether a machine is quiet: what other programs use is distinguished from what the processes of a run use. */
import { spawnSync } from 'node:child_process'
import { cpus } from 'node:os'
import { expect, it } from 'vitest'
import { Quietness } from '../../bench/quiet.ts'

/** Uses one processor for that long, and prints the microseconds that it got. */
const spin = (ms: number) =>
  `"${process.execPath}" -e "const until = Date.now() + ${ms}; while (Date.now() < until); const { user, system } = process.cpuUsage(); console.log(user + system)"`

/** @returns shares of all processors: of what `run` reports as its microseconds, and of other programs */
function measure(run: () => number): {
  readonly own: number
  readonly others: number
  readonly secs: number
} {
  const fromMs = performance.now()
  const quietness = new Quietness()
  const usedUs = run()
  const others = quietness.othersShare()!
  const secs = ((performance.now() - fromMs) / 1000) * cpus().length
  return { own: usedUs / 1e6 / secs, others, secs }
}

it('distinguishes the work of other programs from that of the run', () => {
  // on every processor: if it were counted as that of others, both shares together would be more than all
  const withOwn = measure(() => {
    const everywhere = cpus().map(() => `${spin(600)} &`)
    const { stdout } = spawnSync('sh', ['-c', `${everywhere.join(' ')} wait`], { encoding: 'utf8' })
    return stdout
      .trim()
      .split('\n')
      .map(Number)
      .reduce((sum, us) => sum + us)
  })
  expect(withOwn.own).toBeGreaterThan(0)
  expect(withOwn.own + withOwn.others).toBeLessThan(1.1)
  const withOther = measure(() => {
    // its parent ends first, so it is not a descendant of this process
    spawnSync('sh', ['-c', `${spin(1500)} & sleep 0.2`], { stdio: 'ignore' })
    const until = Date.now() + 1_500
    while (Date.now() < until) spawnSync('sleep', ['0.1'])
    return 0
  })
  expect(withOther.others * withOther.secs).toBeGreaterThan(0.75)
})
