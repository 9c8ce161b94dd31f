/** The bundle that serves and the one that would take its place: swapped when it is good, kept when it is not. */
import { readFileSync } from 'node:fs'
import { afterEach, describe, expect, it } from 'vitest'
import { LivePolicy, type LivePolicyOptions } from '../../../src/policy/live/live-policy.ts'
import { createOpaWasmEngine } from '../../../src/policy/opa-wasm/engine.ts'
import { altered, inputOf, manifestWith, SHIPPED } from '../../fixtures/policy/inputs.ts'

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
  it('serves another bundle once it is prepared, and notifies of it', async () => {
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

  it('closes the one before after the time that its calls have to end', async () => {
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
    policy.unreadable('the disk is unavailable')
    expect(policy.status.fault).toBe('the disk is unavailable')
    policy.unreadable(undefined)
    expect(policy.status.fault).toMatch(/truncated/)
    policy.unreadable('the disk is unavailable')
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
    await expect(open({ verify })).rejects.toThrow(/the bundle is not signed: sign it with/)
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

  it('counts a bad bundle once, however often it is offered, and each bad one', async () => {
    const policy = await open()
    const [one, other] = [shipped.subarray(0, 1000), shipped.subarray(0, 2000)]
    for (const bundle of [one, Buffer.from(one), other, other]) await policy.offer(bundle)
    expect(policy.status.rejected).toBe(2)
    expect(logged).toHaveLength(4)
  })

  it('has no fault any more when the bundle that serves is offered again', async () => {
    const policy = await open()
    await policy.offer(shipped.subarray(0, 1000))
    expect(policy.status.fault).toBeDefined()
    await policy.offer(Buffer.from(shipped))
    expect(policy.status).toMatchObject({ fault: undefined, swaps: 0 })
  })

  it('logs that no bundle can be read once, until the reason changes', async () => {
    const policy = await open()
    for (const reason of ['the disk is full', 'the disk is full', 'the host is down'])
      policy.unreadable(reason)
    expect(logged).toHaveLength(2)
    expect(policy.status.fault).toBe('the host is down')
    policy.unreadable(undefined)
    expect(policy.status.fault).toBeUndefined()
  })

  it('tries the first bundle only when requested', async () => {
    const trial = () => Promise.reject(new Error('it took too long'))
    await (await open({ trial })).close()
    await expect(open({ trial, trialFirst: true })).rejects.toThrow('it took too long')
    await expect(open({ trial, trialFirst: false })).resolves.toBeInstanceOf(LivePolicy)
  })

  it('serves what is prepared when it is activated, once, and not what was discarded', async () => {
    const policy = await open()
    const { revision } = policy.current
    await policy.prepare(named('second'))
    expect(policy.current.revision).toBe(revision)
    policy.discard()
    policy.activate()
    expect(policy.status).toMatchObject({ revision, swaps: 0 })
    await policy.prepare(named('third'))
    policy.activate()
    policy.activate()
    expect(policy.status).toMatchObject({ revision: 'third', swaps: 1 })
  })

  it('closes what was prepared and will not serve', async () => {
    const closed: string[] = []
    const policy = await open({
      async prepare(bundle) {
        const prepared = await engine.prepare(bundle)
        return {
          ...prepared,
          revision: prepared.revision,
          decide: prepared.decide.bind(prepared),
          close() {
            closed.push(prepared.revision)
            prepared.close()
          },
        }
      },
    })
    await policy.prepare(named('a'))
    await policy.prepare(named('b'))
    expect(closed).toEqual(['a'])
    policy.discard()
    expect(closed).toEqual(['a', 'b'])
    await policy.offer(named('c'))
    await policy.prepare(named('d'))
    const first = closed.length
    await policy.close()
    expect(closed.slice(first).sort()).toHaveLength(3)
    expect(closed.slice(first)).toEqual(expect.arrayContaining(['c', 'd']))
  })

  it('takes no bundle that another thread cannot take, and one that all have taken', async () => {
    let fails = true
    const policy = await open({
      async together(_, activate) {
        if (fails) throw new Error('thread 2 refuses it')
        activate()
      },
    })
    const { revision } = policy.current
    expect(await policy.offer(named('second'))).toBe('rejected')
    expect(policy.status).toMatchObject({ revision, fault: 'thread 2 refuses it' })
    fails = false
    expect(await policy.offer(named('second'))).toBe('swapped')
    expect(policy.status).toMatchObject({ revision: 'second', fault: undefined })
  })

  it('knows the rules of sixteen revisions, and those of the current one for all others', async () => {
    const policy = await open()
    const { revision, rules } = policy.current
    const second = manifestWith(content => {
      content.revision = 'rev-0'
      content.metadata = { toolgate: { rules: [] } }
    })
    await policy.offer(altered({ '.manifest': second }))
    for (let at = 1; at <= 14; at++) await policy.offer(named(`rev-${at}`))
    expect(policy.rulesOf('rev-0')).toEqual([])
    // the first and these fifteen are sixteen; one more evicts the first, and the next one rev-0, unless it is offered again
    await policy.offer(altered({ '.manifest': second }))
    await policy.offer(named('rev-15'))
    expect(policy.rulesOf('rev-0')).toEqual([])
    for (let at = 16; at <= 30; at++) await policy.offer(named(`rev-${at}`))
    expect(policy.rulesOf('rev-0')).toEqual(policy.current.rules)
    expect(policy.rulesOf('unknown')).toBe(policy.current.rules)
    expect(policy.rulesOf(revision)).toEqual(rules)
  })

  it('rejects whatever comes after close', async () => {
    const policy = await open()
    const { current } = policy
    await policy.close()
    expect(await policy.offer(named('second'))).toBe('rejected')
    expect(policy.current).toBe(current)
    expect(current.policy.decide(inputOf(), 'k', 0)).toMatchObject({ allow: false, unavailable: true })
  })

  it('closes at close what had been replaced shortly before', async () => {
    const policy = await open()
    const before = policy.current
    await policy.offer(named('second'))
    await policy.close()
    expect(before.policy.decide(inputOf(), 'k', 0)).toMatchObject({ unavailable: true })
  })
})
