/** The whole pipeline without the backend call, warm: remembered token, quota, remembered decision, arguments, metrics. */
import { readFileSync } from 'node:fs'
import { principal } from '../../src/model/principal.ts'
import { Cancellation } from '../../src/pipeline/cancellation.ts'
import { compose } from '../../src/pipeline/compose.ts'
import { Exchange, type ExchangeInit } from '../../src/pipeline/exchange.ts'
import { createOpaWasmEngine } from '../../src/policy/opa-wasm/engine.ts'
import { createMemoryQuota } from '../../src/quota/memory/memory-quota.ts'
import { compile } from '../../src/snapshot/compile.ts'
import { EMPTY_CONTENT, seal } from '../../src/snapshot/document.ts'
import { admitWithinBounds } from '../../src/stages/admit-within-bounds.ts'
import { UsageCounter } from '../../src/stages/count-usage.ts'
import { stages } from '../../src/stages/index.ts'
import { ResultCache } from '../../src/stages/result-cache.ts'
import { Metrics } from '../../src/telemetry/metrics.ts'
import { prepareTool } from '../../src/toolsets/prepare-tool.ts'
import { aTool } from '../../test/fixtures/exchange.ts'
import type { BenchCase, Suite } from '../suite.ts'

const PER_RUN = 256

async function cases(): Promise<readonly BenchCase[]> {
  const policy = await createOpaWasmEngine().prepare(
    readFileSync(new URL('../../policies/bundle.tar.gz', import.meta.url)),
  )
  const caller = principal({
    kind: 'token',
    subject: 'bench',
    consumer: 'bench',
    tenant: 'acme',
    roles: [],
    scopes: ['read', 'execute'],
    subscriptionId: undefined,
    expiresAtMs: Number.MAX_SAFE_INTEGER,
  })
  const content = {
    ...EMPTY_CONTENT,
    tools: [aTool()],
    plans: [{ slug: 'open', name: 'Open', perSecond: 2e9, perDay: 2e9 }],
    consumers: { bench: 'open' },
  }
  const snapshot = compile(seal(content), { policy, prepare: prepareTool })
  const pipeline = compose(
    stages({
      admission: admitWithinBounds(1_000_000),
      tokens: { verify: () => caller, ready: true, forget: () => 0, close() {} },
      apiKeys: undefined,
      quota: createMemoryQuota(),
      // the backend answers at once: what is measured is everything around it
      egress: {
        request: async () => ANSWER,
        stream: () => Promise.reject(new Error('not used')),
        close: async () => {},
      },
      maxResponseBytes: 1_000_000,
      results: new ResultCache(),
      usage: new UsageCounter().stage,
      meter: { ready: true, record: () => undefined },
      metrics: new Metrics(1000),
      accessLog: { write() {} },
    }),
    error => {
      throw error
    },
  )
  const exchange = (operation: ExchangeInit['operation']): Exchange =>
    new Exchange({
      requestId: 'r',
      traceId: '0af7651916cd43dd8448eb211c80319c',
      access: 'jsonrpc',
      snapshot,
      operation,
      credentials: { authorization: 'Bearer remembered', apiKey: '', tenant: '' },
      remoteAddress: '127.0.0.1',
      cancellation: new Cancellation(),
      receivedAtMs: Date.now(),
    })
  return [
    {
      id: 'warm/list',
      perRun: PER_RUN,
      run() {
        for (let at = 0; at < PER_RUN; at++) {
          const x = exchange({ action: 'tools.list' })
          if (pipeline(x) !== undefined || x.listing!.tools.length !== 1) throw new Error('wrong listing')
        }
      },
    },
    {
      id: 'warm/call',
      perRun: PER_RUN,
      async run() {
        for (let at = 0; at < PER_RUN; at++) {
          const final = await pipeline(
            exchange({ action: 'tools.call', tool: 'get_order', arguments: { id: '7' } }),
          )
          if (final?.kind !== 'reply') throw new Error('wrong answer')
        }
      },
    },
  ]
}

const ANSWER = {
  kind: 'response',
  status: 200,
  headers: { get: (name: string) => (name === 'content-type' ? 'application/json' : ''), raw: [] },
  body: new TextEncoder().encode('{"id":"7"}'),
} as const

export default {
  id: 'stages/pipeline',
  title: 'the whole pipeline, warm, the backend answering at once',
  cases,
} satisfies Suite
