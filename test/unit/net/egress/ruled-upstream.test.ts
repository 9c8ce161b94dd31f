/** Upstreams with rules: cancellation in the delay before a retry (over a real connection), reuse across snapshots, and their URLs. */
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { Cancellation } from '../../../../src/base/cancellation.ts'
import type { Traffic } from '../../../../src/model/schema/traffic.ts'
import { createEgress } from '../../../../src/net/egress/client.ts'
import type { Egress } from '../../../../src/net/egress/egress.ts'
import { RuledUpstreams } from '../../../../src/net/egress/ruled-upstreams.ts'
import { restOf, upstreamRulesOf } from '../../../../src/net/egress/upstream-rules.ts'
import { resets, type ScriptedBackend, startScriptedBackend } from '../../../fixtures/scripted-backend.ts'

const HEADERS = { set: {}, remove: [] }
const NONE: Traffic = {
  methods: null,
  maxRequestBytes: null,
  timeoutMs: null,
  requestHeaders: HEADERS,
  responseHeaders: HEADERS,
}
const SLOW = {
  maxAttempts: 5,
  statuses: [],
  methods: null,
  budgetPercent: 100,
  // with its jitter longer than a test may take
  firstDelayMs: 200_000,
  maxDelayMs: 200_000,
}
const egress = createEgress({ allow: [], allowLoopback: true })
let backend: ScriptedBackend

beforeAll(async () => {
  backend = await startScriptedBackend()
})
afterAll(async () => {
  await egress.close()
  await backend.close()
})

it('a caller that cancels does not wait for the delay before a retry', async () => {
  backend.script(resets)
  const rules = upstreamRulesOf('api', backend.url, { ...NONE, retry: SLOW })!
  const cancellation = new Cancellation()
  let failed = 0
  const watched: Egress = {
    async request(sent) {
      const outcome = await egress.request(sent)
      failed++
      return outcome
    },
    stream: sent => egress.stream(sent),
    close: () => egress.close(),
  }
  const called = new RuledUpstreams(watched).of(rules).request({
    method: 'GET',
    url: `${backend.url}/x`,
    headers: [],
    timeoutMs: 300_000,
    maxResponseBytes: 100,
    cancellation,
  })
  await vi.waitUntil(() => failed === 1, { timeout: 30_000, interval: 5 })
  cancellation.cancel()
  expect(await called).toMatchObject({ kind: 'failure', reason: 'reset' })
  expect(backend.seen).toHaveLength(1)
})

it('rules that a snapshot keeps are the same upstream; others are removed', () => {
  const ruled = new RuledUpstreams(egress)
  const rulesOf = (retry: typeof SLOW) => upstreamRulesOf('api', backend.url, { ...NONE, retry })!
  const before = ruled.of(rulesOf(SLOW))
  ruled.load([rulesOf(SLOW)])
  expect(ruled.of(rulesOf(SLOW))).toBe(before)
  ruled.load([rulesOf({ ...SLOW, maxAttempts: 2 })])
  expect(ruled.of(rulesOf(SLOW))).not.toBe(before)
})

it('an API without these rules has none', () => {
  expect(upstreamRulesOf('api', backend.url, undefined)).toBeUndefined()
  expect(upstreamRulesOf('api', backend.url, NONE)).toBeUndefined()
})

it.each([
  ['http://A.example:80/v1/', 'http://A.example:80/v1/x?q=1', '/x?q=1'],
  ['http://A.example:80/v1/', 'http://a.example/v1/x', '/x'],
  ['http://a.example', 'http://a.example', ''],
  ['http://a.example', 'http://a.example.evil/x', undefined],
  ['http://a.example/v1', 'http://b.example/v1', undefined],
])('of the upstream %s and the URL %s the rest is %j', (upstreamUrl, url, rest) => {
  expect(restOf(upstreamRulesOf('api', upstreamUrl, { ...NONE, retry: SLOW })!, url)).toBe(rest)
})
