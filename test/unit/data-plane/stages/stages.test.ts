/** Stages of each phase by themselves: what they write into the exchange and what they refuse. It does not cover every stage. */
import { describe, expect, it } from 'vitest'
import { Cancellation } from '../../../../src/base/cancellation.ts'
import type { Exchange } from '../../../../src/data-plane/pipeline/exchange.ts'
import type { Reply } from '../../../../src/data-plane/pipeline/outcome.ts'
import type { Quota, QuotaRefusal, QuotaRequest } from '../../../../src/data-plane/quota/quota.ts'
import { admitWithinBounds } from '../../../../src/data-plane/stages/1-admit/admit-within-bounds.ts'
import { authenticate } from '../../../../src/data-plane/stages/2-identify/authenticate.ts'
import { resolveTool } from '../../../../src/data-plane/stages/2-identify/resolve-tool.ts'
import { refuseUnknownTool } from '../../../../src/data-plane/stages/3-limit/refuse-unknown-tool.ts'
import { takeQuota } from '../../../../src/data-plane/stages/3-limit/take-quota.ts'
import { authorize } from '../../../../src/data-plane/stages/4-decide/authorize.ts'
import { validateArguments } from '../../../../src/data-plane/stages/4-decide/validate-arguments.ts'
import { invokeTool } from '../../../../src/data-plane/stages/5-invoke/invoke-tool.ts'
import { LargeTexts } from '../../../../src/data-plane/stages/5-invoke/large-texts.ts'
import { listTools } from '../../../../src/data-plane/stages/5-invoke/list-tools.ts'
import { ResultCache } from '../../../../src/data-plane/stages/5-invoke/result-cache.ts'
import type { TokenVerifier } from '../../../../src/identity/verifier.ts'
import type { Principal } from '../../../../src/model/principal.ts'
import { type Refusal, refuse } from '../../../../src/model/refusal.ts'
import { createEgress } from '../../../../src/net/egress/client.ts'
import type {
  Egress,
  EgressFailure,
  EgressRequest,
  EgressResponse,
} from '../../../../src/net/egress/egress.ts'
import { BackendTokens } from '../../../../src/net/egress/oauth/backend-tokens.ts'
import { RuledUpstreams } from '../../../../src/net/egress/ruled-upstreams.ts'
import { aPolicy, aPrincipal, aSnapshot, aTool, compiled, exchange } from '../../../fixtures/exchange.ts'
import { mcpSessions } from '../../../fixtures/mcp-sessions.ts'

const NO_EGRESS = createEgress({ allow: [], allowLoopback: true })
const NO_SERVERS = mcpSessions(NO_EGRESS)
const NO_TOKENS = new BackendTokens({ egress: NO_EGRESS, now: Date.now })
const CALL = { action: 'tools.call', tool: 'get_order', arguments: { id: '7' } } as const

function tokens(reply: Principal | Refusal): TokenVerifier {
  return { verify: () => reply, ready: true, clearCache: () => 0, close() {} }
}

function withCredentials(authorization: string, tenant = '', apiKey = ''): Exchange {
  return exchange({ credentials: { authorization, apiKey, tenant } })
}

describe('admit-within-bounds', () => {
  it('refuses beyond the bound and takes new work once some has left', () => {
    const { enter, leave } = admitWithinBounds(2)
    const x = exchange()
    expect([enter.run(x), enter.run(x)]).toEqual([undefined, undefined])
    expect(enter.run(x)).toMatchObject({ reason: 'overloaded', retryAfterSecs: 1 })
    void leave.run(x)
    void leave.run(x)
    expect(enter.run(x)).toBeUndefined()
  })

  it('counts exchanges that hold a place apart from those that do not: refused calls of a tenant take no place of the others', () => {
    const { enter, share, leave, inFlight } = admitWithinBounds(600)
    const run = (tenant: string) => {
      const x = Object.assign(exchange(), { tenant })
      return { x, refused: enter.run(x) ?? share.run(x) }
    }
    const flood = Array.from({ length: 1_000 }, () => run('acme'))
    const placed = flood.filter(({ refused }) => refused === undefined)
    expect(placed.length).toBeGreaterThan(400)
    expect(flood.find(({ refused }) => refused !== undefined)?.refused).toMatchObject({
      reason: 'share_exceeded',
    })
    // refused, and still in flight: their events wait for the disk
    expect(inFlight()).toBe(1_000)
    expect(run('beta').refused).toBeUndefined()
    for (const { x } of flood) void leave.run(x)
    expect(inFlight()).toBe(1)
  })
})

describe('authenticate', () => {
  it.each([
    ['', 'token_missing'],
    ['Basic abc', 'token_malformed'],
    ['Bearer', 'token_malformed'],
  ])('refuses %j as %s', (authorization, reason) => {
    expect(authenticate(tokens(aPrincipal()), undefined).run(withCredentials(authorization))).toMatchObject({
      reason,
    })
  })

  it('takes the scheme in any case and writes principal and tenant', () => {
    const x = withCredentials('bEaReR t')
    expect(authenticate(tokens(aPrincipal()), undefined).run(x)).toBeUndefined()
    expect(x.principal?.consumer).toBe('demo-agent')
    expect(x.tenant).toBe('acme')
  })

  it('passes the refusal of the verifier on', () => {
    const expired = refuse('token_expired')
    expect(authenticate(tokens(expired), undefined).run(withCredentials('Bearer t'))).toBe(expired)
  })

  it('lets only a cpi-admin act for another tenant', () => {
    expect(
      authenticate(tokens(aPrincipal()), undefined).run(withCredentials('Bearer t', 'other')),
    ).toMatchObject({ reason: 'tenant_mismatch' })
    const admin = withCredentials('Bearer t', 'other')
    expect(authenticate(tokens(aPrincipal({ roles: ['cpi-admin'] })), undefined).run(admin)).toBeUndefined()
    expect(admin.tenant).toBe('other')
    expect(
      authenticate(tokens(aPrincipal()), undefined).run(withCredentials('Bearer t', 'acme')),
    ).toBeUndefined()
  })
})

describe('resolve-tool and refuse-unknown-tool', () => {
  const snapshot = aSnapshot({
    tools: [aTool(), aTool({ name: 'shared', tenant: null, namespace: 'platform' })],
  })

  it('finds tools of the own tenant and of the platform, and no others', () => {
    for (const [tenant, tool, found] of [
      ['acme', 'get_order', true],
      ['acme', 'shared', true],
      ['other', 'shared', true],
      ['other', 'get_order', false],
      [undefined, 'get_order', false],
      ['acme', '__proto__', false],
    ] as const) {
      const x = exchange({ snapshot, operation: { ...CALL, tool } })
      x.tenant = tenant
      expect(resolveTool().run(x)).toBeUndefined()
      const outcome = refuseUnknownTool().run(x)
      expect([tenant, tool, outcome === undefined]).toEqual([tenant, tool, found])
      if (!found)
        expect(outcome).toMatchObject({ reason: 'tool_not_found', message: `Tool not found: ${tool}` })
    }
  })
})

describe('take-quota', () => {
  const addressOf = ({ peerAddress }: { readonly peerAddress: string }) => peerAddress
  function quota(reply: QuotaRefusal | undefined, seen: QuotaRequest[] = []): Quota {
    return {
      key: name => ({ name }),
      take(request) {
        seen.push(request)
        return reply ?? { granted: true, standing: undefined, release() {} }
      },
      statistics: () => [],
      statisticsOf: () => undefined,
      usage: () => [],
      useOf: () => [],
      reset: () => false,
      revision: () => 0,
      clearElsewhere() {},
      onCleared() {},
      health: () => ({ used: 0, capacity: 1, evicted: 0, turnedAway: 0, store: 'local', waited: 0 }),
      advance() {},
      close: async () => {},
    }
  }

  it('takes nothing for a list', () => {
    const seen: QuotaRequest[] = []
    void takeQuota(quota(undefined, seen), addressOf).run(exchange())
    expect(seen).toEqual([])
  })

  it('counts per tenant and consumer with the limits of a plan, and per user with the specified defaults', () => {
    const seen: QuotaRequest[] = []
    const snapshot = aSnapshot({
      plans: [{ slug: 'gold', name: 'Gold', perSecond: 100 }],
      consumers: { rich: 'gold' },
    })
    for (const caller of [
      { consumer: 'rich', subject: 'ann' },
      { consumer: 'poor', subject: 'ann' },
      { consumer: 'poor', subject: 'poor' },
      { consumer: 'Poor', subject: 'b9c1', name: 'service-account-poor' },
      { consumer: 'app', subject: 'key-1', kind: 'api_key' },
    ] as const) {
      const x = exchange({ operation: CALL, snapshot })
      x.principal = aPrincipal(caller)
      x.tool = compiled(aTool())
      void takeQuota(quota(undefined, seen), addressOf).run(x)
    }
    const names = ['acme/rich', 'acme/user:ann', 'acme/poor', 'acme/Poor', 'acme/app']
    expect(seen.map(request => request.key)).toEqual(names.map(name => ({ name })))
    const [ofPlan, ...others] = seen.map(request => request.limits)
    expect(ofPlan).toMatchObject({ perSecond: 100 })
    for (const limits of others) expect(limits).toMatchObject({ perMinute: 5, perDay: 10_000 })
  })

  const standing = { limit: 5, remaining: 0, resetAtSecs: 1_700_000_060 }
  it.each([
    ['minute', 60, 60, /Per-minute limit of 5/],
    ['second', 1, 1, /Per-second limit of 5/],
    ['day', 3600, null, /Daily quota exceeded: 5\/5/],
    ['month', 3600, null, /Monthly quota exceeded: 5\/5/],
    ['burst', 1, 1, /Burst limit of 5 concurrent/],
  ] as const)(
    'refuses an exhausted %s window with its message, Retry-After %d and retry_after_secs %j',
    (kind, retryAfterSecs, inBody, message) => {
      const x = exchange({ operation: CALL })
      x.principal = aPrincipal()
      x.tool = compiled(aTool())
      const outcome = takeQuota(
        quota({ granted: false, kind, standing, used: 5, limit: 5, retryAfterSecs }),
        addressOf,
      ).run(x)
      expect(outcome).toMatchObject({
        reason: 'quota_exceeded',
        retryAfterSecs,
        retryAfterSecsInBody: inBody,
      })
      expect((outcome as Refusal).message).toMatch(message)
      expect((outcome as Refusal).headers).toEqual({
        'x-ratelimit-limit': '5',
        'x-ratelimit-remaining': '0',
        'x-ratelimit-reset': '1700000060',
      })
    },
  )
})

describe('authorize', () => {
  function decided(part: Parameters<typeof aPolicy>[0]): Exchange {
    const x = exchange({ operation: CALL, snapshot: aSnapshot({ tools: [aTool()] }, aPolicy(part)) })
    x.principal = aPrincipal()
    x.tenant = 'acme'
    x.tool = compiled(aTool())
    return x
  }

  it('goes on when the policy allows', () => {
    expect(authorize().run(decided(() => ({ allow: true })))).toBeUndefined()
  })

  it('names the scopes that would be enough when scopes are all that is missing', () => {
    const x = decided(() => ({
      allow: false,
      reasons: [{ code: 'insufficient_scope', message: 'write is needed.', scopes: ['write'] }],
    }))
    expect(authorize().run(x)).toMatchObject({
      reason: 'insufficient_scope',
      scopes: ['execute', 'read', 'write'],
      message: 'write is needed.',
    })
  })

  it('names no scopes when no scope would help', () => {
    const x = decided(() => ({
      allow: false,
      reasons: [
        { code: 'tenant_isolation', message: 'Not yours.' },
        { code: 's', message: 'm', scopes: ['write'] },
      ],
    }))
    expect(authorize().run(x)).toMatchObject({
      reason: 'policy_denied',
      decisionId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    })
  })

  it('denies when the policy is unavailable', async () => {
    const x = decided(async () => ({ allow: false, unavailable: true }))
    expect(await authorize().run(x)).toMatchObject({
      reason: 'policy_unavailable',
      row: { status: 503 },
      retryAfterSecs: 1,
    })
  })

  it('shows the policy the arguments, the effective tenant and the plan', () => {
    let seen: unknown
    void authorize().run(
      decided(input => {
        seen = input
        return { allow: true }
      }),
    )
    expect(seen).toMatchObject({
      subject: {
        type: 'token',
        id: 'demo-agent',
        properties: { tenant: 'acme', scopes: ['execute', 'read'] },
      },
      action: { name: 'tools.call' },
      resource: {
        type: 'tool',
        id: 'get_order',
        properties: { tenant: 'acme', annotations: { readOnlyHint: true } },
      },
      context: { plan: null, arguments: { id: '7' } },
    })
  })
})

describe('list-tools', () => {
  it('lists what the policy would let the caller call, without arguments, and caches it', async () => {
    let asked = 0
    const policy = aPolicy(input => {
      asked++
      expect(input.context.arguments).toBeUndefined()
      return { allow: input.resource.id !== 'delete_order' }
    })
    const snapshot = aSnapshot({ tools: [aTool(), aTool({ name: 'delete_order' })] }, policy)
    const list = async () => {
      const x = exchange({ snapshot })
      x.principal = aPrincipal()
      x.tenant = 'acme'
      await listTools().run(x)
      return x.listing!.tools.map(entry => entry.tool.name)
    }
    expect(await list()).toEqual(['get_order'])
    expect(await list()).toEqual(['get_order'])
    expect(asked).toBe(2)
  })

  it('decides many tools in several turns, once for all callers of a class who wait', async () => {
    let asked = 0
    const policy = aPolicy(() => {
      asked++
      const untilMs = performance.now() + 0.1
      while (performance.now() < untilMs);
      return { allow: true }
    })
    const tools = Array.from({ length: 300 }, (_, at) => aTool({ name: `t_${at}` }))
    const snapshot = aSnapshot({ tools }, policy)
    const stage = listTools()
    const callers = Array.from({ length: 5 }, () => exchange({ snapshot }))
    let turns = 0
    const counting = setInterval(() => turns++, 0)
    const runs = callers.map(x => {
      x.principal = aPrincipal()
      x.tenant = 'acme'
      return stage.run(x)
    })
    expect(runs.every(run => run instanceof Promise)).toBe(true)
    await Promise.all(runs)
    clearInterval(counting)
    expect(turns).toBeGreaterThan(2)
    expect(asked).toBe(300)
    expect(new Set(callers.map(({ listing }) => listing)).size).toBe(1)
    expect(callers[0]!.listing!.tools).toHaveLength(300)
  })
})

describe('validate-arguments', () => {
  it('names each failing path', () => {
    const x = exchange({ operation: CALL })
    x.tool = compiled(aTool(), {
      validate: () => [
        { path: '/id', message: 'must be string' },
        { path: '', message: 'must have property x' },
      ],
    })
    expect(validateArguments().run(x)).toMatchObject({
      reason: 'invalid_arguments',
      message: 'Invalid arguments for get_order: /id must be string; arguments must have property x.',
    })
  })
})

describe('invoke-tool', () => {
  function backend(reply: EgressResponse | EgressFailure, seen: EgressRequest[] = []): Egress {
    return {
      async request(request) {
        seen.push(request)
        return reply
      },
      stream: () => Promise.reject(new Error('not used')),
      close: async () => {},
    }
  }
  function response(status: number, type: string, body: string | Uint8Array): EgressResponse {
    const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
    return {
      kind: 'response',
      status,
      headers: { get: name => (name === 'content-type' ? type : ''), raw: [] },
      body: bytes,
    }
  }
  const invoking = (egress: Egress) =>
    invokeTool({
      egress,
      upstreams: new RuledUpstreams(egress),
      mcpSessions: NO_SERVERS,
      backendTokens: NO_TOKENS,
      maxResponseBytes: 1000,
      textReplies: true,
      results: new ResultCache(),
      largeTexts: new LargeTexts(),
    })
  async function invoke(
    reply: EgressResponse | EgressFailure,
    tool = aTool(),
    seen: EgressRequest[] = [],
  ): Promise<Reply | Refusal> {
    const x = exchange({
      operation: CALL,
      credentials: { authorization: 'Bearer the-callers-own-token', apiKey: 'tgk_x', tenant: '' },
    })
    x.tool = compiled(tool)
    return (await invoking(backend(reply, seen)).run(x)) as Reply | Refusal
  }

  it.each([undefined, { pipelining: 4 }, { http2: true }])(
    'calls the backend over the connections that its author chose: %j',
    async upstream => {
      const seen: EgressRequest[] = []
      await invoke(response(200, '', ''), aTool(upstream && { upstream }), seen)
      expect(seen.map(({ transport }) => transport)).toEqual([upstream])
    },
  )

  it('makes text of JSON, and structured content only where an outputSchema is declared', async () => {
    const json = response(200, 'application/json; charset=utf-8', '{"a":1}')
    expect(await invoke(json)).toMatchObject({
      kind: 'reply',
      backendStatus: 200,
      result: { content: [{ type: 'text', text: '{"a":1}' }], isError: false },
    })
    expect(await invoke(json, aTool({ outputSchema: { type: 'object' } }))).toMatchObject({
      result: { structuredContent: { a: 1 } },
    })
  })

  it.each([
    ['image/png', { type: 'image', mimeType: 'image/png', data: 'AQI=' }],
    ['audio/mpeg', { type: 'audio', mimeType: 'audio/mpeg', data: 'AQI=' }],
    ['application/pdf', { type: 'resource', resource: { mimeType: 'application/pdf', blob: 'AQI=' } }],
  ])('gives %s as its content type', async (type, content) => {
    expect((await invoke(response(200, type, new Uint8Array([1, 2])))) as Reply).toMatchObject({
      result: { content: [content] },
    })
  })

  it('reports a response without content', async () => {
    expect(await invoke(response(204, '', ''))).toMatchObject({
      result: { content: [{ type: 'text', text: expect.stringMatching(/204/) }], isError: false },
    })
  })

  it.each([404, 500])('makes status %d an error result with status and body', async status => {
    expect(await invoke(response(status, 'application/json', '{"detail":"no"}'))).toMatchObject({
      failure: 'tool_execution_failed',
      result: {
        isError: true,
        content: [{ text: `The backend responded with status ${status}: {"detail":"no"}` }],
      },
    })
  })

  it.each([
    ['unreachable', 'backend_unreachable'],
    ['blocked_address', 'backend_unreachable'],
    ['reset', 'backend_unreachable'],
    ['truncated', 'backend_unreachable'],
    ['too_large', 'backend_unreachable'],
    ['timeout', 'backend_timeout'],
  ] as const)('makes %s a %s that reveals no address, which the log has', async (reason, failure) => {
    const message = 'connect to 10.0.0.1 refused'
    const x = exchange({ operation: CALL })
    x.tool = compiled(aTool())
    const outcome = await invoking(backend({ kind: 'failure', reason, message, sent: false }, [])).run(x)
    expect(outcome).toMatchObject({ failure, result: { isError: true } })
    expect(JSON.stringify(outcome)).not.toContain('10.0.0.1')
    expect(x.backendFault).toBe(message)
  })

  it('never hands the credentials of the caller on', async () => {
    const seen: EgressRequest[] = []
    await invoke(response(200, 'text/plain', 'ok'), aTool(), seen)
    expect(JSON.stringify(seen)).not.toMatch(/callers-own-token|tgk_x/)
    expect(seen[0]!.headersOfCall!.join()).toContain('0af7651916cd43dd8448eb211c80319c')
  })

  it('does not call for a caller who has gone', async () => {
    const cancellation = new Cancellation()
    cancellation.cancel()
    const seen: EgressRequest[] = []
    const x = exchange({ operation: CALL, cancellation })
    x.tool = compiled(aTool())
    expect(await invoking(backend(response(200, 'text/plain', ''), seen)).run(x)).toMatchObject({
      reason: 'cancelled',
    })
    expect(seen).toEqual([])
  })
})
