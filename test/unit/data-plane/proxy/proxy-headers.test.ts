/** Headers that an upstream receives about a call (client, scheme, trace), and those it does not. */
import { describe, expect, it } from 'vitest'
import { Call } from '../../../../src/data-plane/http/call.ts'
import { forwardedHeaders } from '../../../../src/data-plane/proxy/proxy-headers.ts'
import type { CompiledApi } from '../../../../src/data-plane/snapshot/snapshot.ts'
import { heldBytes } from '../../../../src/net/held-bytes.ts'
import type { HttpRequest, HttpResponse } from '../../../../src/net/server/listener.ts'

const SPAN = 'b7ad6b7169203331'
const API: CompiledApi = {
  id: 'api_1',
  index: 0,
  tenant: 'acme',
  prefix: '/t/acme/echo',
  upstreamUrl: 'http://up.example',
  authRequired: true,
  requestsPerHour: undefined,
}

function forwarded(headers: Record<string, string>, isTrusted: boolean, api = API): Map<string, string> {
  const request = {
    method: 'GET',
    path: '/t/acme/echo',
    peerAddress: '10.0.0.1',
    rawHeaders: Object.entries(headers).flat(),
    header: (name: string) => headers[name] ?? '',
  } as unknown as HttpRequest
  const call = new Call(request, {} as HttpResponse, [], 0, heldBytes(0))
  const flat = forwardedHeaders(
    call,
    api,
    { scheme: 'https', host: 'public.example', isTrusted: () => isTrusted },
    SPAN,
  )
  return new Map(flat.flatMap((name, at) => (at % 2 === 0 ? [[name, flat[at + 1]!] as const] : [])))
}

describe('headers for an upstream', () => {
  const spoofed = {
    host: 'gw.example',
    'x-forwarded-for': '6.6.6.6',
    'x-forwarded-proto': 'http',
    'x-forwarded-host': 'evil.example',
  }

  it('contain what the gateway saw, not what a caller claims', () => {
    const reported = forwarded(spoofed, false)
    expect([
      reported.get('x-forwarded-for'),
      reported.get('x-forwarded-proto'),
      reported.get('x-forwarded-host'),
    ]).toEqual(['10.0.0.1', 'https', 'gw.example'])
    expect(reported.get('x-forwarded-prefix')).toBe('/t/acme/echo')
  })

  it('go on with the chain of a trusted proxy', () => {
    const reported = forwarded({ ...spoofed, 'x-forwarded-host': 'public.example' }, true)
    expect([
      reported.get('x-forwarded-for'),
      reported.get('x-forwarded-proto'),
      reported.get('x-forwarded-host'),
    ]).toEqual(['6.6.6.6, 10.0.0.1', 'http', 'public.example'])
    expect(forwarded({ host: 'a', 'x-forwarded-proto': 'gopher' }, true).get('x-forwarded-proto')).toBe(
      'https',
    )
  })

  it('name the gateway alone where responses are cached, also after a trusted proxy', () => {
    const cache = { scope: 'public', defaultAgeSecs: null, maxAgeSecs: 1, maxResponseBytes: 1 } as const
    const headers = forwarded(spoofed, true, {
      ...API,
      traffic: { cache } as unknown as CompiledApi['traffic'],
    })
    expect([headers.get('x-forwarded-host'), headers.get('x-forwarded-proto')]).toEqual([
      'public.example',
      'https',
    ])
  })

  it('continue the trace of the caller with a new span and its sampling flag', () => {
    const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
    const parent = (flags: string) =>
      forwarded({ traceparent: `00-${trace}-00f067aa0ba902b7-${flags}` }, false).get('traceparent')!
    expect(parent('01')).toBe(`00-${trace}-${SPAN}-01`)
    expect(parent('00')).toBe(`00-${trace}-${SPAN}-00`)
    const own = forwarded({ traceparent: 'nonsense' }, false).get('traceparent')
    expect(own).toMatch(new RegExp(`^00-[0-9a-f]{32}-${SPAN}-01$`))
  })

  it('take along what belongs to the trace, and nothing that only looks like it', () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
    const reported = forwarded({ traceparent, tracestate: 'a=1', baggage: 'b=2' }, false)
    expect([reported.get('tracestate'), reported.get('baggage')]).toEqual(['a=1', 'b=2'])
    const broken = forwarded({ traceparent: 'nonsense', tracestate: 'a=1', baggage: 'b 2' }, false)
    expect([broken.has('tracestate'), broken.has('baggage')]).toEqual([false, false])
  })

  it('leave out credentials, and what belongs to one connection', () => {
    const reported = forwarded(
      {
        authorization: 'Bearer x',
        'x-api-key': 'k',
        cookie: 'c',
        connection: 'x-hop',
        'x-hop': '1',
        te: 'trailers',
        upgrade: 'h2c',
        'x-kept': '1',
      },
      false,
    )
    for (const name of ['authorization', 'x-api-key', 'cookie', 'connection', 'x-hop', 'te', 'upgrade'])
      expect(reported.has(name), name).toBe(false)
    expect(reported.get('x-kept')).toBe('1')
  })
})
