/** Host names that are resolved by the system: requests for one name share a lookup while it runs. */
import type { LookupAddress } from 'node:dns'
import { expect, it } from 'vitest'
import { resolveWithSystem } from '../../../src/net/egress/connector.ts'

const running = (): number =>
  process.getActiveResourcesInfo().filter(name => name === 'GetAddrInfoReqWrap').length

const resolved = (hostname: string): Promise<readonly LookupAddress[] | Error> =>
  new Promise(resolve => resolveWithSystem(hostname, (error, addresses) => resolve(error ?? addresses)))

it('requests for one name at a time make one lookup, and each gets its addresses', async () => {
  const before = running()
  const same = Array.from({ length: 20 }, () => resolved('localhost'))
  expect(running() - before).toBe(1)
  const other = resolved('127.0.0.1')
  expect(running() - before).toBeLessThanOrEqual(2)
  const [first, ...rest] = await Promise.all(same)
  expect(first).toEqual(expect.arrayContaining([expect.objectContaining({ address: '127.0.0.1' })]))
  for (const one of rest) expect(one).toEqual(first)
  expect(await other).toEqual([{ address: '127.0.0.1', family: 4 }])
})

it('a failure is for each of them, and the next request asks again', async () => {
  const before = running()
  const failed = await Promise.all([resolved('nothing.invalid'), resolved('nothing.invalid')])
  for (const one of failed) expect(one).toBeInstanceOf(Error)
  const again = resolved('nothing.invalid')
  expect(running() - before).toBe(1)
  expect(await again).toBeInstanceOf(Error)
})
