/** A candidate beside the live policy: it counts what would flip, later than the call, and drops decisions when too many are pending. */
import { readFileSync } from 'node:fs'
import { describe, expect, it, vi } from 'vitest'
import type { Decision } from '../../../../src/policy/engine.ts'
import { joinedStatus, ShadowPolicy } from '../../../../src/policy/live/shadow.ts'
import { createOpaWasmEngine } from '../../../../src/policy/opa-wasm/engine.ts'
import { aPolicy } from '../../../fixtures/exchange.ts'
import { inputOf, SHIPPED } from '../../../fixtures/policy/inputs.ts'

const allowed: Decision = { allow: true, reasons: [], revision: 'live' }
const denied: Decision = { allow: false, reasons: [{ code: 'old', message: 'x' }], revision: 'live' }

describe('a candidate', () => {
  it('counts flips by direction, rule, tool and consumer', async () => {
    const candidate = aPolicy(input =>
      input.resource.id === 'closed' ? { allow: false, reasons: [{ code: 'new', message: 'x' }] } : {},
    )
    const shadow = new ShadowPolicy(candidate)
    for (let n = 0; n < 5; n++) shadow.observe(inputOf(), allowed)
    for (let n = 0; n < 3; n++) shadow.observe(inputOf({ id: 'closed' }), allowed)
    for (let n = 0; n < 2; n++) shadow.observe(inputOf({ id: 'open' }), denied)
    expect(shadow.status.compared).toBe(0)
    await vi.waitFor(() => expect(shadow.status.compared).toBe(10), 15_000)
    expect(shadow.status).toMatchObject({ revision: 'test', flipped: 5, failed: 0, skipped: 0 })
    expect(shadow.status.flips).toMatchObject([
      { direction: 'allow→deny', rule: 'new', resource: 'closed', consumer: 'demo-agent', count: 3 },
      { direction: 'deny→allow', rule: 'old', resource: 'open', count: 2 },
    ])
  })

  it('decides separately about callers whose token and roles combine in another way (SCOPES=intersection)', async () => {
    const candidate = await createOpaWasmEngine({ maxEvaluationMs: 1000 }).prepare(readFileSync(SHIPPED))
    const shadow = new ShadowPolicy(candidate)
    const asked = { action: 'tools.list', type: 'tools', id: '*' } as const
    const viewer = { roles: ['viewer'], scopes: [] }
    shadow.observe(inputOf({ ...asked, caller: viewer }), allowed)
    shadow.observe(inputOf({ ...asked, caller: { ...viewer, rights: 'intersection' } }), denied)
    await vi.waitFor(() => expect(shadow.status.compared).toBe(2), 15_000)
    expect(shadow.status.flips).toEqual([])
    shadow.close()
  })

  it('that cannot decide is counted apart; decisions the live one could not make are not compared', async () => {
    const shadow = new ShadowPolicy(aPolicy(() => ({ allow: false, unavailable: true })))
    shadow.observe(inputOf(), allowed)
    shadow.observe(inputOf(), { ...denied, unavailable: true })
    await vi.waitFor(() => expect(shadow.status.failed).toBe(1), 15_000)
    expect(shadow.status.compared).toBe(0)
  })

  it('lets decisions go rather than pile them up', async () => {
    const shadow = new ShadowPolicy(aPolicy())
    for (let n = 0; n < 12_000; n++) shadow.observe(inputOf(), allowed)
    expect(shadow.status.skipped).toBe(2000)
    await vi.waitFor(() => expect(shadow.status.compared).toBe(10_000), 20_000)
  })

  it('that is closed counts no more', async () => {
    const shadow = new ShadowPolicy(aPolicy())
    shadow.observe(inputOf(), allowed)
    shadow.close()
    await new Promise(resolve => setTimeout(resolve, 20))
    expect(shadow.status.compared).toBe(0)
  })

  it('in several threads has one status: the sums, and the flips of one kind together', () => {
    const flip = {
      action: 'tools.call',
      direction: 'allow→deny',
      rule: 'new',
      resource: 'closed',
      consumer: 'app',
    } as const
    const status = (count: number, resource = 'closed') => ({
      revision: 'next',
      compared: 10,
      flipped: count,
      failed: 1,
      skipped: 2,
      flips: [{ ...flip, resource, count, examples: [] }],
    })
    expect(joinedStatus([])).toBeUndefined()
    expect(joinedStatus([status(3)])).toEqual(status(3))
    expect(joinedStatus([status(3), status(2, 'open'), status(4)])).toEqual({
      revision: 'next',
      compared: 30,
      flipped: 9,
      failed: 3,
      skipped: 6,
      flips: [...status(7).flips, ...status(2, 'open').flips],
    })
  })
})
