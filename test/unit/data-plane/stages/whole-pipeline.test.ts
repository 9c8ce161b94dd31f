/** All stages in their order over real parts: what a refused call leaves behind, and which callers are served at all. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { compose, type Pipeline } from '../../../../src/data-plane/pipeline/compose.ts'
import { ApiCache } from '../../../../src/data-plane/proxy/api-cache/api-cache.ts'
import { SnapshotCompiler } from '../../../../src/data-plane/snapshot/compile.ts'
import { keyLookup } from '../../../../src/data-plane/snapshot/key-records.ts'
import type { Snapshot } from '../../../../src/data-plane/snapshot/snapshot.ts'
import { admitWithinBounds } from '../../../../src/data-plane/stages/1-admit/admit-within-bounds.ts'
import { LargeTexts } from '../../../../src/data-plane/stages/5-invoke/large-texts.ts'
import { ResultCache } from '../../../../src/data-plane/stages/5-invoke/result-cache.ts'
import { UsageCounter } from '../../../../src/data-plane/stages/6-settle/count-usage.ts'
import { stages } from '../../../../src/data-plane/stages/index.ts'
import { generateApiKey } from '../../../../src/identity/api-key-format.ts'
import { createApiKeyVerifier } from '../../../../src/identity/api-keys.ts'
import { NO_TOKENS } from '../../../../src/identity/no-provider.ts'
import { applyUpdate, EMPTY_SHARE } from '../../../../src/link/control-share.ts'
import { EMPTY_CONTENT, seal } from '../../../../src/link/document.ts'
import type { TenantShare } from '../../../../src/link/share-schema.ts'
import { createEgress } from '../../../../src/net/egress/client.ts'
import { BackendTokens } from '../../../../src/net/egress/oauth/backend-tokens.ts'
import { RuledUpstreams } from '../../../../src/net/egress/ruled-upstreams.ts'
import { Upstreams } from '../../../../src/net/egress/upstreams.ts'
import { Metrics } from '../../../../src/telemetry/metrics.ts'
import { compileNow } from '../../../fixtures/compile.ts'
import { aPolicy, aTool, exchange } from '../../../fixtures/exchange.ts'
import { mcpSessions } from '../../../fixtures/mcp-sessions.ts'
import { createMemoryQuota } from '../../../fixtures/memory-quota.ts'
import { aWriter, spoolDirectory } from '../../../fixtures/metering.ts'
import { preparedTool } from '../../../fixtures/prepared-tool.ts'

const { key: apiKey, digest } = generateApiKey()
const BURST_1 = { slug: 'one', name: 'One at a time', burst: 1 }

function acme(fields: Partial<TenantShare> = {}): TenantShare {
  const subscription = {
    id: 'sub_1',
    apiId: 'api_1',
    application: 'app',
    plan: 'one',
    rateLimit: null,
    quota: null,
    expiresAtMs: null,
  }
  return {
    id: 'ten_acme',
    name: 'acme',
    suspended: false,
    plans: [BURST_1],
    apis: [
      {
        id: 'api_1',
        path: '/',
        upstreamUrl: 'http://127.0.0.1:1',
        authRequired: true,
        requestsPerHour: null,
      },
    ],
    subscriptions: [subscription],
    keys: [{ id: 'key_1', subscriptionId: 'sub_1', ...digest, expiresAtMs: null }],
    consumers: [],
    tools: [aTool({ apiId: 'api_1', toolSet: 'api' })],
    ...fields,
  }
}

const meter = aWriter(spoolDirectory())
const egress = createEgress({ allow: [], allowLoopback: true })
let quota: ReturnType<typeof createMemoryQuota>
const compiler = new SnapshotCompiler(preparedTool)
const policy = aPolicy()
let version = 0
let snapshot: Snapshot
let pipeline: Pipeline
let admission: ReturnType<typeof admitWithinBounds>
/** What the responses of calls wait for, as for a slow disk. */
let stored: Promise<void> | undefined

function serve(tenant: TenantShare): void {
  const update = { version: `${++version}`, base: null, tenants: [tenant], removed: [] }
  snapshot = compileNow(
    compiler,
    seal({ ...EMPTY_CONTENT, control: applyUpdate(EMPTY_SHARE, update) }),
    policy,
  )
}

function call(args: { readonly [name: string]: unknown }): ReturnType<Pipeline> {
  return pipeline(
    exchange({
      snapshot,
      operation: { action: 'tools.call', tool: 'get_order', arguments: args },
      credentials: { authorization: '', apiKey, tenant: '' },
    }),
  )
}

beforeAll(() => {
  quota = createMemoryQuota({ consumers: 16, toolBuckets: 16 })
})
beforeEach(() => {
  admission = admitWithinBounds(10)
  stored = undefined
  pipeline = compose(
    stages({
      tokens: NO_TOKENS,
      apiKeys: createApiKeyVerifier({ lookup: keyLookup(() => snapshot) }),
      quota,
      clientAddress: ({ peerAddress }) => peerAddress,
      clientNetwork: ({ peerAddress }) => peerAddress,
      egress,
      upstreams: new RuledUpstreams(egress),
      proxied: {
        upstreams: new Upstreams({ egress }),
        ruled: new RuledUpstreams(egress),
        cache: new ApiCache(Date.now),
      },
      mcpSessions: mcpSessions(egress),
      backendTokens: new BackendTokens({ egress, now: Date.now }),
      admission,
      maxResponseBytes: 1000,
      textReplies: true,
      results: new ResultCache(),
      largeTexts: new LargeTexts(),
      usage: new UsageCounter().stage,
      meter: {
        ready: true,
        record: (origin, event) => {
          meter.record(origin, event)
          return stored?.then(() => undefined)
        },
      },
      metrics: new Metrics(10),
      accessLog: { wanted: false, write: () => {} },
    }),
    error => {
      throw error
    },
  )
})
afterAll(async () => {
  meter.close()
  await Promise.all([egress.close(), quota.close()])
})

describe('a plan of one call in flight', () => {
  it('has its slot free again after a later stage has refused the call', async () => {
    serve(acme())
    for (let calls = 0; calls < 3; calls++)
      expect(await call({ id: 7 })).toMatchObject({ reason: 'invalid_arguments' })
  })

  it('has it free again after a call that failed', async () => {
    serve(acme())
    for (let calls = 0; calls < 3; calls++)
      expect(await call({ id: '7' })).toMatchObject({ kind: 'reply', failure: 'backend_unreachable' })
  })
})

it('a call is in flight for a drain until its response no longer waits for the disk', async () => {
  serve(acme())
  let finish = (): void => {}
  stored = new Promise(done => {
    finish = done
  })
  const called = call({ id: 7 })
  await new Promise(setImmediate)
  expect(admission.inFlight()).toBe(1)
  finish()
  await called
  expect(admission.inFlight()).toBe(0)
})

describe('a blocked consumer', () => {
  it('is refused before anything is counted for it', async () => {
    serve(acme({ consumers: [{ subject: 'app', plan: null, blocked: true }] }))
    expect(await call({ id: '7' })).toMatchObject({ reason: 'consumer_blocked' })
    const before = quota.statistics()
    await call({ id: '7' })
    expect(quota.statistics()).toEqual(before)
  })

  it('does not keep others of its tenant from calling', async () => {
    serve(acme({ consumers: [{ subject: 'other', plan: null, blocked: true }] }))
    expect(await call({ id: 7 })).toMatchObject({ reason: 'invalid_arguments' })
  })
})

describe('a suspended tenant', () => {
  it('is refused before anything is counted for it, and keeps its key', async () => {
    serve(acme({ suspended: true }))
    expect(snapshot.isSuspended('acme')).toBe(true)
    expect(await call({ id: '7' })).toMatchObject({ reason: 'tenant_suspended' })
    const before = quota.statistics()
    await call({ id: '7' })
    expect(quota.statistics()).toEqual(before)
  })

  it('is served again when it is active again', async () => {
    serve(acme({ suspended: true }))
    serve(acme())
    expect(snapshot.isSuspended('acme')).toBe(false)
    expect(await call({ id: 7 })).toMatchObject({ reason: 'invalid_arguments' })
  })
})

describe('an API key', () => {
  it('does not open a tool of another API, nor one of none', async () => {
    for (const apiId of ['api_2', undefined]) {
      serve(acme({ tools: [aTool({ ...(apiId === undefined ? {} : { apiId }), toolSet: 'api' })] }))
      expect(await call({ id: '7' })).toMatchObject({ reason: 'key_of_other_api' })
    }
  })
})
