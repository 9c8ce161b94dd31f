/** A bundle is swapped in all threads or in none: real engines on both ends of real message ports, all in this thread. */
import { MessageChannel } from 'node:worker_threads'
import { afterEach, expect, it } from 'vitest'
import { policyInMainThread, servePolicy } from '../../../../src/app/main/workers/policy-in-main-thread.ts'
import { PortLine } from '../../../../src/base/threads/port-line.ts'
import { BundleDistribution } from '../../../../src/policy/live/distribution.ts'
import { PLATFORM, PolicyFollower } from '../../../../src/policy/live/follower.ts'
import { LivePolicy } from '../../../../src/policy/live/live-policy.ts'
import { watchSource } from '../../../../src/policy/live/source.ts'
import { createOpaWasmEngine } from '../../../../src/policy/opa-wasm/engine.ts'
import { SILENT } from '../../../../src/telemetry/log.ts'
import { costly } from '../../../fixtures/policy/inputs.ts'

const engine = createOpaWasmEngine({ maxEvaluationMs: 500 })
const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function start() {
  const epoch = new SharedArrayBuffer(4)
  const distribution = new BundleDistribution(epoch)
  const first = costly({}, 'first')
  distribution.begin(PLATFORM, first)
  const options = { prepare: (bundle: Uint8Array) => engine.prepare(bundle), log: SILENT }
  const owner = await LivePolicy.open(first, {
    ...options,
    together: (bundle, activate) => distribution.swap({ slot: PLATFORM, bundle }, activate),
  })
  closing.push(() => owner.close())

  /** @param refusals how many bundles this thread cannot prepare before it can */
  async function thread(refusals = 0) {
    const { port1, port2 } = new MessageChannel()
    const line = new PortLine(port1)
    servePolicy(line, {
      plane: { current: () => owner.current.policy, onSwap: () => {} },
      epoch,
      join: member => distribution.join(member),
      leave: member => distribution.leave(member),
      alsoTryOn: () => {},
      status: () => owner.status,
      promote: async () => undefined,
    })
    let left = refusals
    let follower: PolicyFollower | undefined
    const elsewhere = policyInMainThread(new PortLine(port2), epoch)
    const { bundles } = await elsewhere.join({
      async prepare(change) {
        if (left-- > 0) throw new Error('no memory at the moment')
        await follower!.prepare(change)
      },
      activate: () => follower!.activate(),
      discard: () => follower!.discard(),
      recent: () => [],
      shadow: () => undefined,
    })
    follower = await PolicyFollower.open(bundles, options)
    const opened = follower
    closing.push(
      () => line.close(),
      () => opened.close(),
    )
    return {
      line,
      revision() {
        elsewhere.sync!()
        return opened.current.revision
      },
    }
  }
  return { owner, distribution, thread }
}

it('is served nowhere while one thread cannot prepare it, and everywhere after a later attempt', async () => {
  const { owner, thread } = await start()
  const all = [await thread(), await thread(2), await thread()]
  const served = () => [owner.current.revision, ...all.map(one => one.revision())]
  const second = costly({}, 'second')
  expect(await owner.offer(second)).toBe('rejected')
  expect(served()).toEqual(['first', 'first', 'first', 'first'])
  expect(owner.status).toMatchObject({ fault: 'no memory at the moment', rejected: 1 })
  expect(await owner.offer(second)).toBe('rejected')
  expect(owner.status.rejected).toBe(1)
  expect(await owner.offer(second)).toBe('swapped')
  expect(served()).toEqual(['second', 'second', 'second', 'second'])
  expect(owner.status.fault).toBeUndefined()
})

it('is active in all threads before any of them has received a message', async () => {
  const { owner, distribution, thread } = await start()
  const all = [await thread(), await thread()]
  const seen: string[][] = []
  const bundle = costly({}, 'second')
  await owner.prepare(bundle)
  await distribution.swap({ slot: PLATFORM, bundle }, () => {
    owner.activate()
    seen.push([owner.current.revision, ...all.map(one => one.revision())])
  })
  expect(seen).toEqual([['second', 'second', 'second']])
})

it('does not wait for a thread that has ended, and one that joins later has it', async () => {
  const { owner, distribution, thread } = await start()
  const [ending, staying] = [await thread(), await thread()]
  const offered = owner.offer(costly({}, 'second'))
  ending.line.close()
  expect(await offered).toBe('swapped')
  await expect.poll(() => distribution.members.length).toBe(1)
  expect([staying.revision(), (await thread()).revision()]).toEqual(['second', 'second'])
})

it('is offered again though the source has not changed, until it is taken', async () => {
  const bundle = costly({}, 'second')
  let reads = 0
  const attempts: (number | undefined)[] = []
  const watching = watchSource(
    { name: 'test', read: async () => (reads++ === 0 ? bundle : undefined) },
    10,
    async offered => {
      expect(offered).toBe(bundle)
      attempts.push(watching.retry?.attempts)
      return attempts.length === 3
    },
    () => {},
  )
  closing.push(() => watching.stop())
  await expect.poll(() => attempts, { timeout: 30_000 }).toEqual([1, 2, 3])
  await expect.poll(() => watching.retry).toBeUndefined()
})

it('of a tenant that is removed is not active any more, and is not given to a thread that joins', async () => {
  const { distribution } = await start()
  const slot = 'tenant acme'
  const activated: string[] = []
  const member = {
    prepare: async () => {},
    activate: () => void activated.push('there'),
    discard: () => {},
    recent: () => [],
    shadow: () => undefined,
  }
  await distribution.join(member)
  for (const bundle of [costly({}, 'a1'), null, undefined]) {
    await distribution.swap({ slot, bundle }, () => void activated.push('here'))
    expect(distribution.isActive(slot)).toBe(bundle !== undefined)
  }
  const { bundles, epoch } = await distribution.join({ ...member })
  expect([[...bundles.keys()], epoch]).toEqual([[PLATFORM], 3])
  expect(activated).toEqual(['here', 'there', 'here', 'there', 'here', 'there'])
})
