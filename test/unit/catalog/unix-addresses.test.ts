/** Which addresses in resources may be Unix sockets: backends and MCP servers. Documents, OAuth endpoints, icons and websites may not. */
import { describe, expect, it } from 'vitest'
import { type ResourceFault, ResourceFields } from '../../../src/catalog/resource/fields.ts'
import { readTool } from '../../../src/catalog/resource/tool-resource.ts'
import { readToolSet } from '../../../src/catalog/resource/tool-set-resource.ts'
import { readToolView } from '../../../src/catalog/resource/tool-view-resource.ts'

const SOCKET = 'http+unix://%2Frun%2Fshop.sock/v1'
const META = { name: 'x', namespace: 'platform' } as Parameters<typeof readToolSet>[0]

function faultsOf(read: (meta: typeof META, spec: ResourceFields) => unknown, spec: object): ResourceFault[] {
  const faults: ResourceFault[] = []
  read(META, new ResourceFields('spec', spec as Record<string, unknown>, faults))
  return faults
}
const ofToolSet = (spec: object) => faultsOf(readToolSet, { displayName: 'x', ...spec })
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
    expect(faultsOf(readTool, { endpoint: `${SOCKET}/things/{id}`, method: 'GET' })).toEqual([])
  })

  it.each<[string, ResourceFault[]]>([
    ['openAPISpec.url', ofToolSet({ openAPISpec: { url: SOCKET } })],
    ...['tokenUrl', 'authorizationUrl', 'revocationUrl'].flatMap((field): [string, ResourceFault[]][] => [
      [`toolDefaults.authentication.${field}`, ofToolSet({ toolDefaults: { authentication: oauth(field) } })],
      [
        `source.mcp.authentication.${field}`,
        ofToolSet({ source: { mcp: { url: 'https://m.test', authentication: oauth(field) } } }),
      ],
      [`authentication.${field}`, faultsOf(readTool, { authentication: oauth(field) })],
    ]),
    ['icons[0].src', faultsOf(readToolView, { path: 'a', icons: [{ src: SOCKET }] })],
    ['websiteUrl', faultsOf(readToolView, { path: 'a', websiteUrl: SOCKET })],
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
      ...faultsOf(readTool, { endpoint: `${url}/x`, method: 'GET' }),
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
      expect(faultsOf(readTool, { endpoint, method: 'GET' }), endpoint).toHaveLength(1)
  })
})
