/** When a checker has V8 compile what its checks need: after a delay, and not once it is closed. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, vi } from 'vitest'

it('begins after its delay, unless the checker is closed before', async () => {
  // other tests in this thread have compiled schemas, which counts
  vi.resetModules()
  const { ArgumentChecker } = await import('../../../../src/base/json-schema/argument-check.ts')
  const { isWarm } = await import('../../../../src/base/json-schema/validate.ts')
  const closed = new ArgumentChecker()
  closed.warmUpIn(20)
  await closed.close()
  await sleep(200)
  expect(isWarm()).toBe(false)

  const checker = new ArgumentChecker()
  checker.warmUpIn(20)
  expect(isWarm()).toBe(false)
  await vi.waitFor(() => expect(isWarm()).toBe(true), 20_000)
  await checker.close()
})
