/** The policy of one plane, made of the bundles it is given: prepared, then active, or discarded. */
import { setImmediate } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import type { Decision, PreparedPolicy } from '../../../../src/policy/engine.ts'
import {
  type ActiveBundles,
  CANDIDATE,
  PLATFORM,
  PolicyFollower,
  slotOfTenant,
} from '../../../../src/policy/live/follower.ts'
import type { LivePolicyOptions } from '../../../../src/policy/live/live-policy.ts'
import { createOpaWasmEngine } from '../../../../src/policy/opa-wasm/engine.ts'
import { SILENT } from '../../../../src/telemetry/log.ts'
import { costly, inputOf } from '../../../fixtures/policy/inputs.ts'

const engine = createOpaWasmEngine({ maxEvaluationMs: 500 })
const options: LivePolicyOptions = { prepare: bundle => engine.prepare(bundle), log: SILENT }
const ACME = slotOfTenant('acme')
let follower: PolicyFollower
let retireMs = 60_000
afterEach(async () => {
  retireMs = 60_000
  await follower.close()
})

async function open(...more: (readonly [string, Uint8Array | null])[]): Promise<PolicyFollower> {
  const bundles: ActiveBundles = new Map([[PLATFORM, costly({}, 'p1')], ...more])
  follower = await PolicyFollower.open(bundles, { ...options, retireMs })
  return follower
}

const decide = (tenant = 'acme') =>
  follower.current.decide(inputOf({ caller: { tenant } }), tenant, 0) as Decision

describe('a follower', () => {
  it('begins with the bundles that are active', async () => {
    await open([ACME, costly({}, 'a1')], [slotOfTenant('globex'), null])
    expect(decide().revision).toBe('p1+a1')
    expect(decide('initech').revision).toBe('p1')
    expect(decide('globex')).toMatchObject({ allow: false, unavailable: true })
    expect(follower.shadow).toBeUndefined()
  })

  it('decides by what is prepared when it is activated, and notifies its listeners', async () => {
    await open()
    const seen: string[] = []
    follower.onSwap(policy => seen.push((policy.decide(inputOf(), 'acme', 0) as Decision).revision))
    for (const change of [
      { slot: PLATFORM, bundle: costly({}, 'p2') },
      { slot: ACME, bundle: costly({}, 'a1') },
      { slot: ACME, bundle: costly({}, 'a2') },
      { slot: ACME, bundle: undefined },
    ]) {
      const before = decide().revision
      await follower.prepare(change)
      expect(decide().revision).toBe(before)
      follower.activate()
      follower.activate()
    }
    expect(seen).toEqual(['p2', 'p2+a1', 'p2+a2', 'p2'])
    await follower.prepare({ slot: ACME, bundle: null })
    follower.activate()
    expect(decide()).toMatchObject({ allow: false, unavailable: true })
    await follower.prepare({ slot: ACME, bundle: costly({}, 'a3') })
    follower.activate()
    expect(decide().revision).toBe('p2+a3')
  })

  it('does not activate what was discarded, also while it was being prepared', async () => {
    await open([ACME, costly({}, 'a1')])
    for (const slot of [PLATFORM, ACME, slotOfTenant('globex'), CANDIDATE]) {
      await follower.prepare({ slot, bundle: costly({}, 'x') })
      follower.discard()
      follower.activate()
      const preparing = follower.prepare({ slot, bundle: costly({}, 'x') })
      follower.discard()
      await preparing
      follower.activate()
    }
    expect([decide().revision, decide('globex').revision, follower.shadow]).toEqual([
      'p1+a1',
      'p1',
      undefined,
    ])
  })

  it('activates the last of two that are prepared at once', async () => {
    await open()
    await Promise.all(
      ['p2', 'p3'].map(name => follower.prepare({ slot: PLATFORM, bundle: costly({}, name) })),
    )
    follower.activate()
    expect(decide().revision).toBe('p3')
  })

  it('says why a bundle cannot be served, and takes the next', async () => {
    await open()
    await expect(follower.prepare({ slot: ACME, bundle: Buffer.from('x') })).rejects.toThrow()
    follower.activate()
    await follower.prepare({ slot: PLATFORM, bundle: costly({}, 'p2') })
    follower.activate()
    expect(decide().revision).toBe('p2')
  })

  it('shows a candidate what the policy decides, and resets its counts when it is replaced', async () => {
    await open()
    const candidate = async (revision: string | undefined) => {
      const bundle = revision === undefined ? undefined : costly({}, revision)
      await follower.prepare({ slot: CANDIDATE, bundle })
      follower.activate()
    }
    follower.observe(inputOf(), decide())
    await candidate('c1')
    expect(follower.shadow).toMatchObject({ revision: 'c1', compared: 0 })
    follower.observe(inputOf(), decide())
    await expect.poll(() => follower.shadow?.compared).toBe(1)
    await candidate('c2')
    expect(follower.shadow).toMatchObject({ revision: 'c2', compared: 0 })
    await candidate(undefined)
    expect(follower.shadow).toBeUndefined()
  })

  it.each([undefined, null])(
    'decides by a tenant bundle that became %s where a call began with it, for a while',
    async bundle => {
      await open([ACME, costly({}, 'a1')])
      const { current } = follower
      await follower.prepare({ slot: ACME, bundle })
      follower.activate()
      await setImmediate()
      expect(decide().revision).toBe('p1')
      expect(current.decide(inputOf(), 'acme', 0)).toMatchObject({ allow: true, revision: 'p1+a1' })
    },
  )

  it('closes a tenant bundle that was removed when its calls have ended', async () => {
    retireMs = 30
    await open([ACME, costly({}, 'a1')])
    const { current } = follower
    await follower.prepare({ slot: ACME, bundle: undefined })
    follower.activate()
    await expect
      .poll(() => current.decide(inputOf(), 'acme', 0), { timeout: 10_000 })
      .toMatchObject({ allow: false, unavailable: true })
  })

  it('closes everything it has prepared', async () => {
    const prepared: PreparedPolicy[] = []
    const prepare = async (bundle: Uint8Array) => {
      const policy = await engine.prepare(bundle)
      prepared.push(policy)
      return policy
    }
    const active = [PLATFORM, ACME, CANDIDATE].map(slot => [slot, costly({}, slot)] as const)
    follower = await PolicyFollower.open(new Map(active), { ...options, prepare })
    await follower.prepare({ slot: PLATFORM, bundle: costly({}, 'not activated') })
    expect(prepared).toHaveLength(4)
    await follower.close()
    for (const policy of prepared)
      expect(policy.decide(inputOf(), 'k', 1), policy.revision).toMatchObject({
        allow: false,
        unavailable: true,
      })
  })
})
