/** The bundle that serves and the one that would take its place: swapped when it is good, kept when it is not. */
import { readFileSync } from 'node:fs'
import { afterEach, describe, expect, it } from 'vitest'
import { LivePolicy, type LivePolicyOptions } from '../../../../src/shared/policy/live/live-policy.ts'
import { createOpaWasmEngine } from '../../../../src/shared/policy/opa-wasm/engine.ts'
import { altered, inputOf, manifestWith, SHIPPED } from '../../../fixtures/policy/inputs.ts'

const shipped = readFileSync(SHIPPED)
const engine = createOpaWasmEngine({ maxEvaluationMs: 500 })
let live: LivePolicy | undefined
const logged: string[] = []
afterEach(async () => {
  await live?.close()
  logged.length = 0
})

async function open(options: Partial<LivePolicyOptions> = {}): Promise<LivePolicy> {
  live = await LivePolicy.open(shipped, {
    prepare: bundle => engine.prepare(bundle),
    log: { info: (_, message) => logged.push(message), error: (_, message) => logged.push(message) },
    ...options,
  })
  return live
}

function named(revision: string): Buffer {
  return altered({
    '.manifest': manifestWith(manifest => {
      manifest.revision = revision
    }),
  })
}

describe('a live policy', () => {
  it('serves another bundle once it is prepared, and tells of it', async () => {
    const policy = await open()
    const before = policy.current
    const reported: string[] = []
    policy.onSwap(next => reported.push(next.revision))
    expect(await policy.offer(named('second'))).toBe('swapped')
    expect(reported).toEqual(['second'])
    expect(policy.current.policy.decide(inputOf(), 'k', 0)).toMatchObject({ allow: true, revision: 'second' })
    // calls that began with the one before still end with it
    expect(before.policy.decide(inputOf(), 'k', 0)).toMatchObject({ allow: true, revision: before.revision })
    expect(policy.status).toMatchObject({ revision: 'second', swaps: 1, rejected: 0, fault: undefined })
  })

  it('closes the one before when its calls have ended', async () => {
    const policy = await open({ retireMs: 30 })
    const before = policy.current
    await policy.offer(named('second'))
    await new Promise(resolve => setTimeout(resolve, 200))
    expect(before.policy.decide(inputOf(), 'k', 0)).toMatchObject({ allow: false, unavailable: true })
  })

  it('does nothing about the same bundle again', async () => {
    const policy = await open()
    expect(await policy.offer(Buffer.from(shipped))).toBe('same')
    expect(policy.status).toMatchObject({ swaps: 0, rejected: 0 })
  })

  it('keeps what serves when the new one is bad, says why, and is well again with a good one', async () => {
    const policy = await open()
    const { revision } = policy.current
    expect(await policy.offer(shipped.subarray(0, 1000))).toBe('rejected')
    expect(policy.status).toMatchObject({ revision, swaps: 0, rejected: 1 })
    expect(policy.status.fault).toMatch(/truncated.*Build it with/)
    expect(policy.current.policy.decide(inputOf(), 'k', 0)).toMatchObject({ allow: true, revision })
    policy.unreachable('the disk is away')
    expect(policy.status.fault).toBe('the disk is away')
    await policy.offer(named('third'))
    expect(policy.status).toMatchObject({ revision: 'third', fault: undefined })
  })

  it('keeps what serves when the trial fails', async () => {
    const policy = await open({ trial: () => Promise.reject(new Error('it took too long')) })
    expect(await policy.offer(named('second'))).toBe('rejected')
    expect(policy.status).toMatchObject({ fault: 'it took too long', rejected: 1 })
  })

  it('takes only signed bundles where a key is set', async () => {
    const policy = await open()
    await policy.close()
    const verify = () => Promise.reject(new Error('never asked'))
    await expect(open({ verify })).rejects.toThrow(/it is not signed; sign it with/)
  })

  it('knows the rules of the revisions before', async () => {
    const policy = await open()
    const { revision, rules } = policy.current
    const manifest = manifestWith(content => {
      content.revision = 'second'
      content.metadata = { toolgate: { rules: [] } }
    })
    await policy.offer(altered({ '.manifest': manifest }))
    expect(policy.rulesOf('second')).toEqual([])
    expect(policy.rulesOf(revision)).toEqual(rules)
    expect(rules.length).toBeGreaterThan(3)
  })

  it('takes bundles one after the other: the last offered is the one that serves', async () => {
    const policy = await open()
    const offered = await Promise.all(['a', 'b', 'c'].map(name => policy.offer(named(name))))
    expect(offered).toEqual(['swapped', 'swapped', 'swapped'])
    expect(policy.current.revision).toBe('c')
  })
})
