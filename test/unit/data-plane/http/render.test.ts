/** How refusals, tools and results look on the wire, per version; and the reading of messages, pages, negotiation and CORS. */
import { describe, expect, it } from 'vitest'
import { Cors } from '../../../../src/data-plane/http/cors.ts'
import { readMessage } from '../../../../src/data-plane/http/mcp/message.ts'
import { PAGE_SIZE, pageOf } from '../../../../src/data-plane/http/mcp/pagination.ts'
import {
  isToolError,
  refusalHeaders,
  restBody,
  rpcError,
  rpcStatus,
} from '../../../../src/data-plane/http/refusal-body.ts'
import { isSameForm, listTail, resultView, toolsForm } from '../../../../src/data-plane/listing/tool-view.ts'
import type { ToolListing } from '../../../../src/data-plane/snapshot/snapshot.ts'
import { negotiate } from '../../../../src/mcp/versions.ts'
import { REFUSALS, type RefusalReason, refuse } from '../../../../src/model/refusal.ts'
import type { HttpRequest } from '../../../../src/net/server/listener.ts'
import { aTool, compiled } from '../../../fixtures/exchange.ts'

const CONTEXT = { resourceMetadataUrl: 'http://gw/.well-known/oauth-protected-resource/mcp/sse' }

function headerOf(headers: readonly string[], name: string): string | undefined {
  const at = headers.indexOf(name)
  return at < 0 ? undefined : headers[at + 1]
}

describe('refusals', () => {
  it('give the specified quota body, with null for a daily quota', () => {
    const daily = refuse('quota_exceeded', {
      message: 'Daily.',
      retryAfterSecs: 3600,
      retryAfterSecsInBody: null,
    })
    expect(restBody(daily, 'r')).toEqual({
      error: 'quota_exceeded',
      message: 'Daily.',
      retry_after_secs: null,
    })
    expect(headerOf(refusalHeaders(daily, CONTEXT), 'retry-after')).toBe('3600')
    expect(rpcError(daily, 'r')).toMatchObject({ code: 429, data: { error: 'quota_exceeded' } })
  })

  it('challenge without error when no token was shown, and always with scope and metadata', () => {
    const value = headerOf(refusalHeaders(refuse('token_missing'), CONTEXT), 'www-authenticate')!
    expect(value).toMatch(
      /^Bearer resource_metadata="http:\/\/gw\/\.well-known\/oauth-protected-resource\/mcp\/sse", scope="openid platform:read platform:execute"$/,
    )
    expect(value).not.toContain('error=')
    expect(value).not.toContain('admin')
  })

  it('challenge with invalid_token for a bad token', () => {
    expect(headerOf(refusalHeaders(refuse('token_expired'), CONTEXT), 'www-authenticate')).toContain(
      'error="invalid_token"',
    )
  })

  it('challenge with the union of scopes when more would help, and not at all when none would', () => {
    const scopes = refuse('insufficient_scope', { scopes: ['execute', 'openid', 'read', 'write'] })
    expect(headerOf(refusalHeaders(scopes, CONTEXT), 'www-authenticate')).toContain(
      'scope="platform:execute openid platform:read platform:write"',
    )
    expect(headerOf(refusalHeaders(refuse('policy_denied'), CONTEXT), 'www-authenticate')).toBeUndefined()
  })

  it.each([
    ['token_missing', 401],
    ['insufficient_scope', 403],
    ['session_not_found', 404],
    ['not_ready', 503],
    ['policy_denied', 200],
    ['quota_exceeded', 200],
    ['overloaded', 200],
    ['tool_not_found', 200],
    ['invalid_arguments', 200],
    ['internal_error', 200],
  ] as const)('of %s go over JSON-RPC with HTTP status %d', (reason, status) => {
    expect(rpcStatus(refuse(reason))).toBe(status)
  })

  it('of a tool call are results, but those whose HTTP status a client or load balancer must see', () => {
    const results = Object.keys(REFUSALS).filter(reason => isToolError(refuse(reason as RefusalReason)))
    expect(results).toEqual(
      expect.arrayContaining([
        'overloaded',
        'tenant_mismatch',
        'subscription_required',
        'consumer_blocked',
        'policy_denied',
        'policy_unavailable',
        'quota_exceeded',
        'confirmation_unsupported',
        'confirmation_declined',
        'confirmation_pending',
        'upstream_unavailable',
      ]),
    )
    for (const reason of ['not_ready', 'insufficient_scope', 'token_missing', 'session_not_found'])
      expect(results).not.toContain(reason)
  })

  it('carry reasons and decision id of a denial', () => {
    const denied = refuse('policy_denied', { reasons: [{ code: 'c', message: 'm' }], decisionId: 'd' })
    expect(restBody(denied, 'r')).toEqual({
      error: 'forbidden',
      message: expect.any(String),
      request_id: 'r',
      reasons: [{ code: 'c', message: 'm' }],
      decision_id: 'd',
    })
  })
})

describe('tools', () => {
  const listing = {
    tools: [compiled(aTool({ title: 'T', outputSchema: { type: 'object' } }))],
    forms: new Map(),
  }
  const formOf = async (of: ToolListing, view: Parameters<typeof toolsForm>[1]) => {
    const form = await toolsForm(of, view)
    if ('pieces' in form) throw new Error('the list is long')
    return form
  }
  const toolsJson = async (of: ToolListing, view: Parameters<typeof toolsForm>[1]) =>
    (await formOf(of, view)).json
  const keys = async (view: Parameters<typeof toolsForm>[1]) =>
    Object.keys(JSON.parse(await toolsJson(listing, view))[0]).sort()

  it('show no version the fields of another', async () => {
    expect(await keys('2024-11-05')).toEqual(['description', 'inputSchema', 'name'])
    expect(await keys('2025-03-26')).toEqual(['annotations', 'description', 'inputSchema', 'name'])
    expect(await keys('2025-06-18')).toEqual([
      'annotations',
      'description',
      'inputSchema',
      'name',
      'outputSchema',
      'title',
    ])
  })

  it('are at hand as bytes when they are many, and only then', async () => {
    const many = {
      tools: Array.from({ length: 30 }, () => compiled(aTool({ description: 'Größe – 大きさ '.repeat(8) }))),
      forms: new Map(),
    }
    const form = await formOf(many, '2025-11-25')
    const bytes = listTail(form, '}')
    expect(Buffer.from(bytes!).toString()).toBe(`${form.json}}`)
    expect(listTail(form, '}')).toBe(bytes)
    expect(Buffer.from(listTail(form, ',"nextCursor":"x"}')!).toString()).toBe(
      `${form.json},"nextCursor":"x"}`,
    )
    expect(await toolsForm(many, '2025-11-25')).toBe(form)
    expect(listTail(await formOf(listing, 'rest'), '}')).toBeUndefined()
  })

  it('hide an outputSchema that is not an object from legacy clients', async () => {
    const arrays = {
      tools: [compiled(aTool({ outputSchema: { type: 'array' } }))],
      forms: new Map(),
    }
    expect(await toolsJson(arrays, '2025-11-25')).not.toContain('outputSchema')
    expect(await toolsJson(arrays, '2026-07-28')).toContain('outputSchema')
  })

  it('write definitions in place for versions before JSON Schema 2020-12', async () => {
    const node = { type: 'object', properties: { child: { $ref: '#/$defs/Node' } } }
    const inputSchema = {
      type: 'object' as const,
      properties: { root: { $ref: '#/$defs/Node' } },
      $defs: { Node: node },
    }
    const recursive = { tools: [compiled(aTool({ inputSchema }))], forms: new Map() }
    expect(await toolsJson(recursive, '2025-06-18')).not.toContain('$')
    expect(await toolsJson(recursive, '2025-06-18')).toContain('child')
    for (const view of ['2025-11-25', '2026-07-28', 'rest'] as const)
      expect(await toolsJson(recursive, view)).toContain('#/$defs/Node')
  })

  it('never show the credential or the address of a backend', async () => {
    const secret = {
      tools: [compiled(aTool({ authentication: { type: 'bearer', credential: 'canary' } }))],
      forms: new Map(),
    }
    expect(await toolsJson(secret, 'rest')).not.toMatch(/canary|localhost/)
  })

  it('of a large installation are written in turns, once for all who wait, and compared without joining', async () => {
    const large = (description: string) => ({
      tools: Array.from({ length: 3_000 }, () => compiled(aTool({ description: description.repeat(40) }))),
      forms: new Map(),
    })
    const [many, same, other] = [large('Größe '), large('Größe '), large('Grösse')]
    const [first, second] = await Promise.all([toolsForm(many, 'rest'), toolsForm(many, 'rest')])
    expect(first).toBe(second)
    expect(first).toBe(await toolsForm(many, 'rest'))
    if ('json' in first) throw new Error('the list is short')
    expect(first.pieces.length).toBeGreaterThan(8)
    expect(Math.max(...first.pieces.map(piece => piece.length))).toBeLessThan(200_000)
    expect(JSON.parse(Buffer.concat([...first.pieces]).toString())).toHaveLength(3_000)
    expect(isSameForm(first, await toolsForm(same, 'rest'))).toBe(true)
    expect(isSameForm(first, await toolsForm(other, 'rest'))).toBe(false)
    expect(isSameForm(first, await toolsForm(listing, 'rest'))).toBe(false)
  })
})

describe('results', () => {
  const result = {
    content: [{ type: 'audio', data: 'AQ==', mimeType: 'audio/wav' }] as const,
    isError: false,
    structuredContent: { a: 1 },
  }

  it('keep structured content from 2025-06-18 on, and only objects before 2026-07-28', () => {
    expect(resultView(result, '2025-03-26').structuredContent).toBeUndefined()
    expect(resultView(result, '2025-06-18').structuredContent).toEqual({ a: 1 })
    expect(resultView({ ...result, structuredContent: [1] }, '2025-11-25').structuredContent).toBeUndefined()
    expect(resultView({ ...result, structuredContent: [1] }, '2026-07-28').structuredContent).toEqual([1])
  })

  it('hold no audio for 2024-11-05', () => {
    expect(resultView(result, '2024-11-05').content[0]).toMatchObject({
      type: 'resource',
      resource: { blob: 'AQ==' },
    })
  })
})

describe('JSON-RPC messages', () => {
  it.each([
    [
      { jsonrpc: '2.0', id: 1, method: 'ping' },
      { kind: 'request', id: 1, method: 'ping', params: {} },
    ],
    [
      { jsonrpc: '2.0', id: 'a', method: 'x', params: { y: 1 } },
      { kind: 'request', id: 'a', params: { y: 1 } },
    ],
    [{ jsonrpc: '2.0', method: 'notifications/initialized' }, { kind: 'notification' }],
    [
      { jsonrpc: '2.0', id: 1, result: {} },
      { kind: 'response', id: 1 },
    ],
    [
      { jsonrpc: '2.0', id: null, method: 'ping' },
      { kind: 'invalid', id: null },
    ],
    [
      { jsonrpc: '1.0', id: 4, method: 'ping' },
      { kind: 'invalid', id: 4 },
    ],
    [
      { jsonrpc: '2.0', id: 4, method: 'ping', params: [1] },
      { kind: 'invalid', id: 4 },
    ],
    [
      { jsonrpc: '2.0', id: 4 },
      { kind: 'invalid', id: 4 },
    ],
    [null, { kind: 'invalid', id: null }],
    ['x', { kind: 'invalid', id: null }],
  ])('%j', (value, expected) => {
    expect(readMessage(value)).toMatchObject(expected)
  })
})

describe('pages', () => {
  const tools = Array.from({ length: PAGE_SIZE + 3 }, (_, at) =>
    compiled(aTool({ name: `t${String(at).padStart(5, '0')}` })),
  )

  it('walk the whole list once', () => {
    const first = pageOf(tools, undefined)!
    const second = pageOf(tools, first.nextCursor)!
    expect([first.from, first.to, second.from, second.to, second.nextCursor]).toEqual([
      0,
      PAGE_SIZE,
      PAGE_SIZE,
      PAGE_SIZE + 3,
      undefined,
    ])
  })

  it.each(['', 'x', '####', Buffer.from('before:x').toString('base64url')])(
    'refuse the cursor %j, which was not issued',
    cursor => {
      expect(pageOf(tools, cursor)).toBeUndefined()
    },
  )
})

describe('negotiate', () => {
  it.each([
    ['2024-11-05', '2024-11-05'],
    ['2025-06-18', '2025-06-18'],
    ['2026-07-28', '2025-11-25'],
    ['1999-01-01', '2025-11-25'],
    [undefined, '2025-11-25'],
  ])('%s → %s', (requested, version) => {
    expect(negotiate(requested)).toBe(version)
  })
})

describe('CORS', () => {
  const cors = new Cors({
    origins: ['https://console.example'],
    methods: ['GET', 'POST'],
    allowHeaders: ['Authorization'],
    exposeHeaders: ['X-Request-ID'],
    maxAgeSecs: 600,
    ownOrigin: 'http://localhost:8080',
  })
  const request = (headers: Record<string, string>) =>
    ({ header: (name: string) => headers[name] ?? '' }) as HttpRequest

  it('accepts a preflight of a listed origin, and adds the MCP headers', () => {
    const { status, headers } = cors.preflight(
      request({
        origin: 'https://console.example',
        'access-control-request-headers': 'mcp-param-region, x-evil',
      }),
    )
    expect(status).toBe(204)
    const allowed = headerOf(headers, 'access-control-allow-headers')!
    expect(allowed).toMatch(/Authorization.*Mcp-Session-Id.*mcp-param-region/)
    expect(allowed).not.toContain('x-evil')
    expect(headerOf(headers, 'access-control-max-age')).toBe('600')
  })

  it('refuses a preflight of any other origin with 403 and no Access-Control-Allow-Origin', () => {
    const { status, headers } = cors.preflight(request({ origin: 'https://evil.example' }))
    expect(status).toBe(403)
    expect(headers).not.toContain('access-control-allow-origin')
  })

  it('adds nothing for a request without origin, and exposes the session header to a page', () => {
    expect(cors.headers('')).toEqual([])
    expect(headerOf(cors.headers('https://console.example'), 'access-control-expose-headers')).toMatch(
      /Mcp-Session-Id/,
    )
  })
})
