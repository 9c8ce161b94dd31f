/** Health checks of addresses over the wire: they use the HTTP version that calls of the upstream use. Which address a call gets is not tested here. */
import { spawnSync } from 'node:child_process'
import { expect, it, onTestFinished, vi } from 'vitest'
import type { Traffic } from '../../../src/model/schema/traffic.ts'
import type { UpstreamTransport } from '../../../src/model/upstream-transport.ts'
import { HealthChecks } from '../../../src/net/egress/health-checks.ts'
import { upstreamRulesOf } from '../../../src/net/egress/upstream-rules.ts'
import { httpBackend } from './backend.ts'
import { client, keep } from './carriers.ts'
import { certificate } from './certificate.ts'
import { http2Backend } from './http2-backend.ts'

const SOON = { timeout: 10_000, interval: 10 }
const hasOpenssl = spawnSync('openssl', ['version']).status === 0

function rulesOf(url: string, connections: UpstreamTransport | null) {
  const healthCheck = { path: '/up', intervalMs: 100, timeoutMs: 5000, unhealthyAfter: 1, healthyAfter: 1 }
  const traffic: Traffic = {
    methods: null,
    maxRequestBytes: null,
    timeoutMs: null,
    requestHeaders: { set: {}, remove: [] },
    responseHeaders: { set: {}, remove: [] },
    upstreams: { addresses: [{ url, weight: 1 }], healthCheck },
    connections: connections?.http2 === undefined ? null : { http2: connections.http2 },
  }
  return upstreamRulesOf('api', url, traffic)!
}

function start(url: string, connections: UpstreamTransport | null): HealthChecks {
  const egress = client({ tls: url.startsWith('https:') ? certificate().tls : undefined })
  const checks = new HealthChecks({ egress, onChange: () => {} })
  onTestFinished(() => checks.close())
  checks.load([rulesOf(url, connections)])
  return checks
}

for (const [name, isTls] of [
  ['without TLS', false],
  ['with TLS (needs openssl for a certificate: apt-get install openssl)', true],
] as const)
  it.skipIf(isTls && !hasOpenssl)(
    `a backend that supports only HTTP/2 passes its checks, ${name}`,
    async () => {
      const backend = keep(
        await http2Backend({ isTls, maxStreams: 10 }, stream => {
          stream.respond({ ':status': 204 })
          stream.end()
        }),
      )
      const checks = start(backend.url, { http2: true })
      await vi.waitUntil(() => checks.counts.succeeded + checks.counts.failed >= 2, SOON)
      expect([checks.counts.failed, checks.unhealthy.size, backend.requests[0]]).toEqual([0, 0, 'GET /up'])
    },
  )

it('without a rule for connections they use HTTP/1.1', async () => {
  const connections = null
  const backend = keep(await httpBackend((_, response) => response.end()))
  const checks = start(backend.url, connections)
  await vi.waitUntil(() => checks.counts.succeeded >= 2, SOON)
  expect([checks.counts.failed, checks.unhealthy.size]).toEqual([0, 0])
})

it('an address whose upstream changes to HTTP/2 is checked over HTTP/2 from then on', async () => {
  const backend = keep(
    await http2Backend({ isTls: false, maxStreams: 10 }, stream => {
      stream.respond({ ':status': 200 })
      stream.end()
    }),
  )
  const checks = start(backend.url, null)
  await vi.waitUntil(() => checks.unhealthy.size === 1, SOON)
  checks.load([rulesOf(backend.url, { http2: true })])
  await vi.waitUntil(() => checks.counts.succeeded >= 1, SOON)
  expect(checks.unhealthy.size).toBe(0)
})
