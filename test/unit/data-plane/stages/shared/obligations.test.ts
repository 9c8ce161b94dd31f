/** Obligations of a decision: what is read, refused and counted, and what is removed from a result. */
import { describe, expect, it } from 'vitest'
import { authorize } from '../../../../../src/data-plane/stages/4-decide/authorize.ts'
import { limitDecision } from '../../../../../src/data-plane/stages/4-decide/limit-decision.ts'
import { redactResult } from '../../../../../src/data-plane/stages/5-invoke/redact-result.ts'
import { obligationsOf } from '../../../../../src/data-plane/stages/shared/obligations.ts'
import { aPolicy, aPrincipal, aSnapshot, aTool, compiled, exchange } from '../../../../fixtures/exchange.ts'
import { createMemoryQuota } from '../../../../fixtures/memory-quota.ts'

const decided = (obligations: Record<string, unknown>) => ({
  allow: true,
  reasons: [],
  revision: 'r',
  obligations,
})

function calls(obligations: Record<string, unknown>) {
  const snapshot = aSnapshot(
    {},
    aPolicy(() => ({ obligations })),
  )
  const x = exchange({ snapshot, operation: { action: 'tools.call', tool: 'get_order', arguments: {} } })
  x.principal = aPrincipal()
  x.tenant = 'acme'
  x.tool = compiled(aTool())
  return x
}

describe('what a decision obliges to', () => {
  it('is read once for each cached decision', () => {
    const decision = decided({
      redact: { paths: ['/a~1b/*', '/c~0d'] },
      limit: { per_minute: 3 },
      log: true,
      confirm: false,
    })
    expect(obligationsOf(decision)).toEqual({
      redact: [['a/b', '*'], ['c~d']],
      limit: { perMinute: 3 },
      log: true,
    })
    expect(obligationsOf(decision)).toBe(obligationsOf(decision))
  })

  it.each([
    [{ fly: true }, '"fly"'],
    [{ redact: {} }, 'redact'],
    [{ redact: { paths: [] } }, 'redact'],
    [{ redact: { paths: ['no/pointer'] } }, 'redact'],
    [{ redact: { paths: Array.from({ length: 101 }, (_, n) => `/${n}`) } }, 'redact'],
    [{ limit: { per_minute: 0 } }, 'limit'],
    [{ limit: { per_minute: 1.5 } }, 'limit'],
    [{ limit: 3 }, 'limit'],
  ])('%j is refused, and the call with it', (obligations, named) => {
    expect(obligationsOf(decided(obligations))).toContain(named)
    expect(authorize().run(calls(obligations))).toMatchObject({
      reason: 'policy_denied',
      reasons: [{ code: 'obligation_unmet' }],
    })
  })

  it('cannot redact a response that is streamed', () => {
    const snapshot = aSnapshot(
      {},
      aPolicy(() => ({ obligations: { redact: { paths: ['/a'] } } })),
    )
    const api = {
      id: 'a',
      index: 0,
      tenant: 'acme',
      prefix: '/t/acme/a',
      upstreamUrl: 'http://localhost:1',
      authRequired: true,
      requestsPerHour: undefined,
    }
    const x = exchange({ snapshot, operation: { action: 'proxy', api, method: 'GET' } })
    x.principal = aPrincipal()
    expect(authorize().run(x)).toMatchObject({ reason: 'policy_denied' })
  })
})

describe('limit', () => {
  it('counts each consumer and tool apart', () => {
    const quota = createMemoryQuota()
    const stage = limitDecision(quota)
    const run = (consumer: string, tool = 'get_order') => {
      const x = calls({ limit: { per_minute: 2 } })
      x.principal = aPrincipal({ consumer, subject: consumer })
      x.tool = compiled(aTool({ name: tool }))
      void authorize().run(x)
      return stage.run(x)
    }
    expect([run('a'), run('a')]).toEqual([undefined, undefined])
    expect(run('a')).toMatchObject({
      reason: 'quota_exceeded',
      message: 'Per-minute limit of 2 requests exceeded.',
    })
    expect(run('b')).toBeUndefined()
    expect(run('a', 'other')).toBeUndefined()
  })
})

describe('redact', () => {
  const paths = [['card'], ['lines', '*', 'price'], ['tags', '1'], ['notes', '*']]
  const response = {
    card: '4111',
    lines: [{ price: 1, n: 2 }, { price: 3 }],
    tags: ['a', 'b', 'c'],
    notes: ['x'],
    rest: { card: 'kept' },
  }
  const left = { lines: [{ n: 2 }, {}], tags: ['a', null, 'c'], notes: [], rest: { card: 'kept' } }

  const elsewhere = async () => undefined

  it('takes paths out of text and structured content, and leaves the original whole', async () => {
    const result = {
      content: [{ type: 'text', text: JSON.stringify(response) } as const],
      structuredContent: response,
      isError: false,
    }
    const before = JSON.stringify(result)
    const redacted = await redactResult(result, paths, elsewhere)
    expect(JSON.parse((redacted.content[0] as { text: string }).text)).toEqual(left)
    expect(redacted.structuredContent).toEqual(left)
    expect(JSON.stringify(result)).toBe(before)
  })

  it.each([
    [{ type: 'text', text: 'card 4111' } as const],
    [{ type: 'image', data: 'NDExMQ==', mimeType: 'image/png' } as const],
    [{ type: 'resource', resource: { uri: 'x:y', blob: 'NDExMQ==' } } as const],
  ])('withholds what it cannot read: %j', async content => {
    const text = JSON.stringify(await redactResult({ content: [content], isError: false }, paths, elsewhere))
    expect(text).toContain('The gateway removed this part')
    expect(text).not.toMatch(/4111|NDExMQ/)
  })

  it('removes every member of a part that the paths do not reach and that could hold the same data', async () => {
    const text = JSON.stringify({ card: '4111', rest: 1 })
    const hidden = { _meta: { 'shop.example/card': '4111' }, card: '4111' }
    const annotations = { audience: ['user', '4111'], priority: 0.5, lastModified: '4111', ...hidden }
    const content = [
      { type: 'text', text, annotations, ...hidden } as const,
      {
        type: 'resource',
        annotations: { audience: '4111', priority: '4111' },
        resource: { uri: 'x:y', mimeType: 'application/json', text, blob: 'NDExMQ==', ...hidden },
        ...hidden,
      } as const,
    ]
    const redacted = await redactResult({ content, isError: false }, [['card']], elsewhere)
    const kept = JSON.stringify({ rest: 1 })
    expect(redacted.content).toEqual([
      { type: 'text', text: kept, annotations: { audience: ['user'], priority: 0.5 } },
      { type: 'resource', resource: { uri: 'x:y', mimeType: 'application/json', text: kept } },
    ])
  })

  it('leaves the result itself, which others share, as it is', async () => {
    const structuredContent = { card: 1, items: [{ card: 2, a: [3] }], __proto__: null }
    const before = JSON.stringify(structuredContent)
    const paths = [['card'], ['items', '*', 'card'], ['items', '0', 'a', '0']]
    const redacted = await redactResult({ content: [], isError: false, structuredContent }, paths, elsewhere)
    expect(redacted.structuredContent).toEqual({ items: [{ a: [null] }] })
    expect(JSON.stringify(structuredContent)).toBe(before)
  })

  it('redacts a large text elsewhere, and withholds it when that is not possible', async () => {
    const text = JSON.stringify({ card: '4111', filler: 'x'.repeat(40_000) })
    const result = { content: [{ type: 'text', text } as const], isError: false }
    const redacted = await redactResult(result, [['card']], async large => large.replace('4111', ''))
    expect(redacted.content).toEqual([{ type: 'text', text: text.replace('4111', '') }])
    expect(JSON.stringify(await redactResult(result, [['card']], elsewhere))).not.toContain('4111')
  })

  it('does not follow what leads nowhere', async () => {
    const result = { content: [{ type: 'text', text: '[1,{"card":2}]' } as const], isError: false }
    const nowhere = [['__proto__', 'x'], ['constructor'], ['7', 'card']]
    expect((await redactResult(result, nowhere, elsewhere)).content).toEqual(result.content)
  })
})
