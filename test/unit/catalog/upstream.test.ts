/** `spec.upstream` of a ToolSet: reading it, its faults, and that its tools have it. */
import { describe, expect, it } from 'vitest'
import { readResource } from '../../../src/catalog/resource/resource.ts'
import { onlyTool, openapi } from './build.ts'

const DOCUMENT = openapi({ '/a': { get: { operationId: 'a', responses: { 200: { description: 'ok' } } } } })

function read(spec: object) {
  const source = 'source' in spec ? {} : { openAPISpec: { inline: JSON.stringify(DOCUMENT) } }
  return readResource(
    {
      apiVersion: 'toolgate.dev/v1alpha1',
      kind: 'ToolSet',
      metadata: { name: 'shop', namespace: 'tenant-acme' },
      spec: { displayName: 'Shop', ...source, ...spec },
    },
    'toolgate.dev',
  )
}

function upstreamOf(upstream: unknown, rest: object = {}): unknown {
  const result = read({ upstream, ...rest })
  if (!result.ok) return result.faults.map(({ field, reason, fix }) => `${field} ${reason}: ${fix}`)
  return result.resource.kind === 'ToolSet' ? result.resource.value.upstream : result
}

describe('spec.upstream', () => {
  it.each([
    [undefined, undefined],
    [{}, undefined],
    [{ http2: false }, undefined],
    [{ http2: true }, { http2: true }],
  ])('reads %j as %j', (given, expected) => {
    expect(upstreamOf(given)).toEqual(expected)
  })

  it.each([
    [{ http2: 'yes' }, {}, 'spec.upstream.http2 is not a boolean: write true or false'],
    [
      { depth: 2 },
      {},
      'spec.upstream.depth is not a known field: correct or remove the field; allowed fields: http2',
    ],
    [
      { http2: true },
      { source: { mcp: { url: 'http://mcp.test/mcp' } } },
      'spec.upstream is set together with spec.source: remove it: the gateway reads the tools from spec.source.mcp',
    ],
  ])('refuses %j with %j', (given, rest, fault) => {
    expect(upstreamOf(given, rest)).toEqual([fault])
  })

  it('is that of each tool', () => {
    expect(onlyTool(DOCUMENT, { upstream: { http2: true } }).upstream).toEqual({ http2: true })
    expect('upstream' in onlyTool(DOCUMENT)).toBe(false)
  })
})
