/** The heap of a process that replaces what it holds, in a real process. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { expect, it } from 'vitest'
import { bundledScript } from '../../fixtures/bundled-script.ts'

const CHILD = new URL('./heap-growth-child.ts', import.meta.url).pathname
const IN_USE_MIB = 40
/** Largest young generation, MiB. */
const YOUNG_MIB = 32

it('grows by no more than half of what is in use', { timeout: 60_000 }, async () => {
  const child = fork(await bundledScript(CHILD))
  const [{ highestMiB }] = (await once(child, 'message')) as [{ highestMiB: number }]
  expect(highestMiB).toBeGreaterThan(IN_USE_MIB)
  expect(highestMiB).toBeLessThan(1.5 * IN_USE_MIB + YOUNG_MIB + 10)
})
