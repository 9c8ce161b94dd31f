/** Memory that only a start needs, in a real process: an idle one returns it, a busy one keeps it. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, it } from 'vitest'
import { bundledScript } from '../../fixtures/bundled-script.ts'

const CHILD = new URL('./start-memory-child.ts', import.meta.url).pathname
const children: ChildProcess[] = []

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

async function started(load: 'idle' | 'busy') {
  const child = fork(await bundledScript(CHILD), [load])
  children.push(child)
  const [atStart] = (await once(child, 'message')) as [number]
  const youngMiB = async (): Promise<number> => {
    const received = once(child, 'message')
    child.send('report')
    return ((await received) as [number])[0]
  }
  return { atStart, youngMiB }
}

it('is returned while the process is idle', async () => {
  const { atStart, youngMiB } = await started('idle')
  expect(atStart).toBeGreaterThanOrEqual(16)
  await expect.poll(youngMiB, { interval: 200 }).toBeLessThanOrEqual(4)
})

it('is kept under load, where a collection would delay calls', async () => {
  const { atStart, youngMiB } = await started('busy')
  await sleep(1_500)
  expect(await youngMiB()).toBe(atStart)
})
