/** The value of `Server-Timing`, who may read it, and which values of `X-Debug-Timing` ask for it. */
import { describe, expect, it } from 'vitest'
import { mayReadTiming, ServerTiming, wantsTiming } from '../../../../src/data-plane/http/server-timing.ts'
import type { Exchange } from '../../../../src/data-plane/pipeline/exchange.ts'
import { principal } from '../../../../src/model/principal.ts'
import type { Decision, PolicyInput } from '../../../../src/policy/engine.ts'

function ended(stages: readonly (readonly [string, number])[], backendMs = -1, startedAt = 100): Exchange {
  const timings = stages.map(([stage, ms]) => ({ stage, startedAt, ms }))
  return { timings, backendMs, startedAt } as unknown as Exchange
}

describe('the header', () => {
  it('lists the stages in order, the upstream and the total, in ms to the microsecond', () => {
    const timing = new ServerTiming()
    timing.add(
      ended(
        [
          ['authenticate', 0.0123456],
          ['invoke-tool', 12.5],
        ],
        12.25,
      ),
    )
    expect(timing.render(113.0001)).toBe(
      'authenticate;dur=0.012, invoke-tool;dur=12.5, upstream;dur=12.25, total;dur=13',
    )
  })

  it('omits an upstream that was not called, and reports the time so far of one that is still responding', () => {
    const refused = new ServerTiming()
    refused.add(ended([['authenticate', 1]]))
    expect(refused.render(102)).toBe('authenticate;dur=1, total;dur=2')
    const streaming = new ServerTiming()
    streaming.add(ended([['authenticate', 1]]), 7)
    expect(streaming.render(109)).toBe('authenticate;dur=1, upstream;dur=7, total;dur=9')
  })

  it('sums up the calls of a batch; the total is the time that passed', () => {
    const timing = new ServerTiming()
    timing.add(ended([['authorize', 1]], 4, 101))
    timing.add(ended([['authorize', 2]], 5, 100))
    timing.add(ended([['authorize', 3]], -1, 102))
    expect(timing.render(106)).toBe('authorize;dur=6, upstream;dur=9, total;dur=6;desc="3 calls"')
  })

  it('consists of tokens for any stage id (RFC 9110 §5.6.2)', () => {
    const timing = new ServerTiming()
    timing.add(ended([['say "hi", (now);\r\nx-evil: 1', 1]]))
    const value = timing.render(101)
    expect(value.split(', ').map(entry => entry.split(';')[0])).toEqual([
      'say--hi----now----x-evil--1',
      'total',
    ])
    expect(value).toMatch(/^[\w!#$%&'*+.^`|~-]+;dur=[\d.]+(?:, [\w!#$%&'*+.^`|~-]+;dur=[\d.]+)*$/)
  })

  it('never reports a negative time', () => {
    const timing = new ServerTiming()
    timing.add(ended([], -1, 100))
    expect(timing.render(99)).toBe('total;dur=0')
  })
})

describe('X-Debug-Timing', () => {
  it.each(['1', 'true', 'TRUE', ' yes ', 'on'])('asks with %j', value => {
    expect(wantsTiming(value)).toBe(true)
  })
  it.each(['', '0', 'false', 'no', 'off', '2', 'true, true', 'truely'])('does not ask with %j', value => {
    expect(wantsTiming(value)).toBe(false)
  })
})

describe('the right to it', () => {
  const caller = principal({
    kind: 'token',
    subject: 'ann',
    consumer: 'ann',
    tenant: 'acme',
    roles: [],
    scopes: ['admin'],
    subscriptionId: undefined,
    expiresAtMs: Number.POSITIVE_INFINITY,
  })
  function asked(decision: Decision | Promise<Decision>, who: typeof caller | null = caller) {
    const inputs: PolicyInput[] = []
    const exchange = {
      principal: who ?? undefined,
      tenant: who?.tenant,
      access: 'rest',
      receivedAtMs: 1,
      operation: { action: 'tools.list' },
      snapshot: {
        policy: {
          decide(input: PolicyInput) {
            inputs.push(input)
            return decision
          },
        },
        entitlementOf: () => ({ plan: undefined }),
      },
    } as unknown as Exchange
    return { inputs, may: mayReadTiming(exchange) }
  }
  const allowed: Decision = { allow: true, reasons: [], revision: 'r' }

  it('is the policy’s to give, as that to /admin', () => {
    const { inputs, may } = asked(allowed)
    expect(may).toBe(true)
    expect([inputs[0]!.action.name, inputs[0]!.resource]).toEqual([
      'admin',
      { type: 'admin', id: 'timing', properties: { tenant: 'acme' } },
    ])
    expect(inputs[0]!.subject.properties.scopes).toEqual(['admin'])
  })

  it('is absent for a denial, an obligation that cannot be met, and an unauthenticated caller', async () => {
    expect(asked({ ...allowed, allow: false }).may).toBe(false)
    expect(asked({ ...allowed, obligations: { confirm: {} } }).may).toBe(false)
    expect(await asked(Promise.resolve({ ...allowed, allow: false, unavailable: true })).may).toBe(false)
    expect(await asked(Promise.resolve(allowed)).may).toBe(true)
    const unknown = asked(allowed, null)
    expect([unknown.may, unknown.inputs]).toEqual([false, []])
  })
})
