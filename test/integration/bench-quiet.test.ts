/** Whether a machine is quiet: what other programs use is distinguished from what the processes of a run use. */
import { spawnSync } from 'node:child_process'
import { cpus } from 'node:os'
import { expect, it } from 'vitest'
import { Quietness } from '../../bench/quiet.ts'

it('distinguishes the work of other programs from that of the run', () => {
  const spin = (ms: number) => ['-e', `const until = Date.now() + ${ms}; while (Date.now() < until);`]
  const own = new Quietness()
  spawnSync(process.execPath, spin(600))
  const withOwn = own.othersShare()!
  const other = new Quietness()
  // its parent ends first, so it is not a descendant of this process
  spawnSync('sh', ['-c', `"${process.execPath}" -e "${spin(1500)[1]}" & sleep 0.2`], { stdio: 'ignore' })
  const until = Date.now() + 1_500
  while (Date.now() < until) spawnSync('sleep', ['0.1'])
  const withOther = other.othersShare()!
  expect(withOwn).toBeLessThanOrEqual(1)
  expect(withOther).toBeGreaterThan(0.5 / cpus().length)
})
