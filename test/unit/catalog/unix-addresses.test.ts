/** Which addresses in resources may be Unix sockets: backends and MCP servers. Documents, OAuth endpoints, icons and websites may not. */
import { describe, expect, it } from 'vitest'
import { readResource } from '../../../src/catalog/resource/resource.ts'
import type { ResourceFault } from '../../../src/model/resource-fault.ts'

const SOCKET = 'http+unix://%2Frun%2Fshop.sock/v1'

function faultsOf(kind: string, spec: object): readonly ResourceFault[] {
  const metadata = { name: 'x', namespace: 'platform' }
  const result = readResource({ apiVersion: 'toolgate.dev/v1alpha1', kind, metadata, spec }, 'toolgate.dev')
  return result.ok ? [] : result.faults
}
const ofToolSet = (spec: object) => faultsOf('ToolSet', { displayName: 'x', ...spec })
const oauth = (field: string) => ({
  type: 'authorization_code',
  secretRef: { name: 'a', key: 'b' },
  clientId: 'c',
  tokenUrl: 'https://id.test/token',
  authorizationUrl: 'https://id.test/auth',
  [field]: SOCKET,
})

describe('a Unix socket', () => {
  it('is accepted as base of a tool-set, as MCP server and as endpoint of a tool', () => {
    expect(ofToolSet({ baseURL: SOCKET })).toEqual([])
    expect(ofToolSet({ source: { mcp: { url: SOCKET } } })).toEqual([])
    expect(faultsOf('Tool', { endpoint: `${SOCKET}/things/{id}`, method: 'GET' })).toEqual([])
  })

  it.each<[string, readonly ResourceFault[]]>([
    ['openAPISpec.url', ofToolSet({ openAPISpec: { url: SOCKET } })],
    ...['tokenUrl', 'authorizationUrl', 'revocationUrl'].flatMap(
      (field): [string, readonly ResourceFault[]][] => [
        [
          `toolDefaults.authentication.${field}`,
          ofToolSet({ toolDefaults: { authentication: oauth(field) } }),
        ],
        [
          `source.mcp.authentication.${field}`,
          ofToolSet({ source: { mcp: { url: 'https://m.test', authentication: oauth(field) } } }),
        ],
        [`authentication.${field}`, faultsOf('Tool', { authentication: oauth(field) })],
      ],
    ),
    ['icons[0].src', faultsOf('ToolView', { icons: [{ src: SOCKET }] })],
    ['websiteUrl', faultsOf('ToolView', { websiteUrl: SOCKET })],
  ])('is refused as %s', (field, faults) => {
    expect(faults.filter(one => one.reason.includes('http(s) address')).map(one => one.field)).toEqual([
      `spec.${field}`,
    ])
  })

  it.each([
    ['http+unix:///run/shop.sock', 'names no Unix socket'],
    ['http+unix://shop.sock/', 'is not absolute'],
    ['http+unix://%2Frun%2F..%2Fdocker.sock', '".."'],
    ['http+unix://%2Frun%2Fa%00', 'NUL'],
    [`http+unix://%2F${'x'.repeat(110)}`, 'the system allows 107'],
  ])('%s is refused, with the reason', (url, reason) => {
    const all = [
      ...ofToolSet({ baseURL: url }),
      ...ofToolSet({ source: { mcp: { url } } }),
      ...faultsOf('Tool', { endpoint: `${url}/x`, method: 'GET' }),
    ]
    expect(all.map(fault => fault.field)).toEqual(['spec.baseURL', 'spec.source.mcp.url', 'spec.endpoint'])
    for (const fault of all) {
      expect(fault.reason).toContain(reason)
      expect(fault.fix).toContain('http+unix://%2Frun%2Fshop.sock')
    }
  })

  it('is not usable with a placeholder in its path, a query, or too many characters', () => {
    const tooLong = `${SOCKET}/${'x'.repeat(2048)}`
    expect(ofToolSet({ baseURL: tooLong })[0]!.reason).toContain('longer than 2048')
    for (const endpoint of ['http+unix://%2Frun%2F{name}/x', `${SOCKET}?a=b`])
      expect(faultsOf('Tool', { endpoint, method: 'GET' }), endpoint).toHaveLength(1)
  })
})
