/** A ToolSet's document, selector, defaults, naming and refused values (docs/reference/toolset.md), for every source. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { serve } from '../../unit/catalog/deployment.ts'
import { documentOf, inline, namesOf, phaseOf, ready, type SourceWorld, toolsOf } from './source-world.ts'

const SHOP = documentOf(
  {
    listOrders: { path: '/v1/orders', tags: ['orders', 'read'] },
    addOrder: { path: '/v1/orders', method: 'post', tags: ['orders'] },
    listUsers: { path: '/v2/users', tags: ['users', 'read'] },
    dropUser: { path: '/v2/users', method: 'delete', tags: ['users', 'danger'] },
  },
  { servers: [{ url: 'https://shop.test/api' }] },
)

/** A separate tool-set for each row, so that names do not conflict. */
let row = 0
const next = (): { name: string; prefix: string } => {
  row++
  return { name: `row-${row}`, prefix: `r${row}_` }
}

export function sourceTables(open: () => Promise<SourceWorld>): void {
  let world: SourceWorld
  beforeAll(async () => {
    world = await open()
  }, 180_000)
  afterAll(() => world?.close())

  /** Names of the tools without the prefix that keeps rows apart. */
  async function made(spec: { openAPISpec?: object; naming?: object }): Promise<string[]> {
    const { name, prefix } = next()
    const openAPISpec = spec.openAPISpec ?? { inline: SHOP }
    const tools = await ready(world, name, { ...spec, openAPISpec, naming: { prefix, ...spec.naming } })
    return tools.map(tool => tool.name.slice(prefix.length))
  }

  async function firstTool(spec: object) {
    const { name, prefix } = next()
    const [tool] = await ready(world, name, { ...inline('op'), ...spec, naming: { prefix } })
    return tool!
  }

  describe('identity', () => {
    it('the namespace tenant-{name} belongs to a tenant, platform to all', async () => {
      const [own, shared] = [next(), next()]
      const [mine] = await ready(world, own.name, { ...inline('op'), naming: { prefix: own.prefix } })
      const meta = { namespace: 'platform' }
      const [all] = await ready(
        world,
        shared.name,
        { ...inline('op'), naming: { prefix: shared.prefix } },
        meta,
      )
      expect([mine?.tenant, all?.tenant]).toEqual(['acme', null])
    })
  })

  describe('spec', () => {
    it.each([1, 64])('displayName of %d characters', async length => {
      expect(await made({ displayName: 'x'.repeat(length) } as object)).toHaveLength(4)
    })

    it('description', async () => {
      expect(await made({ description: 'The orders of the shop.' } as object)).toHaveLength(4)
    })

    it('openAPISpec left out: Ready without tools', async () => {
      const { name } = next()
      await world.put(name, {})
      expect(await phaseOf(world, name, 'Ready')).toMatchObject({ toolCount: 0, tools: [] })
    })

    it('baseURL wins over the servers of the document, which stand in for it', async () => {
      const [given, absent] = [next(), next()]
      const openAPISpec = { inline: SHOP }
      const [with_] = await ready(world, given.name, { openAPISpec, naming: { prefix: given.prefix } })
      expect(with_?.request.baseUrl).toBe('http://backend.test')
      await world.put(absent.name, { openAPISpec, naming: { prefix: absent.prefix } })
      await phaseOf(world, absent.name, 'Ready')
      await expect.poll(() => toolsOf(world, absent.name)[0]?.request.baseUrl).toBe('https://shop.test/api')
    })

    it('enabled: false takes the tools away, true brings them back', async () => {
      const { name, prefix } = next()
      const spec = { ...inline('op'), naming: { prefix } }
      await ready(world, name, spec)
      await world.put(name, { baseURL: 'http://backend.test', ...spec, enabled: false })
      expect(await phaseOf(world, name, 'Disabled')).toMatchObject({ toolCount: 0, tools: [] })
      await expect.poll(() => namesOf(world, name)).toBe('')
      expect(await ready(world, name, { ...spec, enabled: true })).toHaveLength(1)
    })
  })

  describe('spec.openAPISpec', () => {
    it('url', async () => {
      const server = await serve((_, response) => response.end(SHOP))
      expect(await made({ openAPISpec: { url: server.url } })).toHaveLength(4)
      await server.close()
    })

    it('configMapRef and secretRef', async () => {
      await world.putKey('ConfigMap', 'documents', 'shop.json', SHOP)
      await world.putKey('Secret', 'private-documents', 'shop.json', SHOP)
      const key = 'shop.json'
      expect(await made({ openAPISpec: { configMapRef: { name: 'documents', key } } })).toHaveLength(4)
      expect(await made({ openAPISpec: { secretRef: { name: 'private-documents', key } } })).toHaveLength(4)
    })

    it.each([
      [{ configMapRef: { name: 'nowhere', key: 'a' } }, 'nowhere'],
      [{ secretRef: { name: 'documents-2', key: 'absent' } }, 'absent'],
    ])('%o, which is not there, is an Error that names it', async (openAPISpec, named) => {
      await world.putKey('Secret', 'documents-2', 'present', SHOP)
      const { name } = next()
      await world.put(name, { openAPISpec })
      expect((await phaseOf(world, name, 'Error')).lastError).toContain(named)
    })
  })

  describe('spec.selector', () => {
    it.each<[string, object, string]>([
      ['tags', { tags: ['users', 'none'] }, 'dropUser listUsers'],
      ['excludeTags', { excludeTags: ['danger', 'orders'] }, 'listUsers'],
      ['methods', { methods: ['GET', 'DELETE'] }, 'dropUser listOrders listUsers'],
      ['pathPrefix', { pathPrefix: '/v1/' }, 'addOrder listOrders'],
      ['operationIds', { operationIds: ['addOrder', 'absent'] }, 'addOrder'],
      ['several: all must agree', { tags: ['read'], methods: ['GET'], pathPrefix: '/v2' }, 'listUsers'],
    ])('%s', async (_, selector, expected) => {
      expect((await made({ selector } as object)).join(' ')).toBe(expected)
    })
  })

  describe('spec.toolDefaults', () => {
    it('tags, timeout, rateLimit with burst', async () => {
      const rateLimit = { requestsPerMinute: 120, burst: 7 }
      const tool = await firstTool({ toolDefaults: { tags: ['gold'], timeout: '1m30s', rateLimit } })
      expect(tool).toMatchObject({ timeoutMs: 90_000, rateLimit })
      expect(tool.tags).toContain('gold')
    })

    it('left out: 30 s, no rate, no authentication', async () => {
      const tool = await firstTool({})
      expect([tool.timeoutMs, tool.rateLimit, tool.authentication]).toEqual([
        30_000,
        undefined,
        { type: 'none' },
      ])
    })

    it('authentication.type and authentication.secretRef', async () => {
      await world.putKey('Secret', 'backend', 'token', 's3cret\n')
      const authentication = { type: 'bearer', secretRef: { name: 'backend', key: 'token' } }
      const tool = await firstTool({ toolDefaults: { authentication } })
      expect(tool.authentication).toEqual({ type: 'bearer', credential: 's3cret' })
      expect(
        (await firstTool({ toolDefaults: { authentication: { type: 'none' } } })).authentication,
      ).toEqual({
        type: 'none',
      })
    })
  })

  describe('spec.naming', () => {
    it('prefix and suffix stand around every name', async () => {
      const { name } = next()
      const tools = await ready(world, name, {
        ...inline('a', 'b'),
        naming: { prefix: 'pre_', suffix: '.v1' },
      })
      expect(tools.map(tool => tool.name)).toEqual(['pre_a.v1', 'pre_b.v1'])
    })

    it('useOperationId: false names by method and path', async () => {
      expect(await made({ naming: { useOperationId: false } })).toEqual([
        'delete_v2_users',
        'get_v1_orders',
        'get_v2_users',
        'post_v1_orders',
      ])
    })

    it('names that meet put the later tool-set into Error and leave the earlier serving', async () => {
      const [first, second] = [next(), next()]
      await ready(world, first.name, inline('same'))
      await world.put(second.name, { ...inline('same', 'other'), baseURL: 'http://backend.test' })
      expect((await phaseOf(world, second.name, 'Error')).lastError).toContain('naming.prefix')
      expect([namesOf(world, first.name), namesOf(world, second.name)]).toEqual(['same', ''])
      await world.remove(first.name)
      await phaseOf(world, second.name, 'Ready')
      await expect.poll(() => namesOf(world, second.name)).toBe('other same')
    })
  })

  describe('what does not fit', () => {
    const longReference = { name: 'x'.repeat(254), key: 'k' }
    const rows: [string, object][] = [
      ['displayName', { displayName: undefined }],
      ['displayName', { displayName: '' }],
      ['displayName', { displayName: 'x'.repeat(65) }],
      ['description', { description: 'x'.repeat(4097) }],
      ['enabled', { enabled: 'yes' }],
      ['baseURL', { baseURL: 'http://user:password@a.test' }],
      ['baseURL', { baseURL: 'ftp://a.test' }],
      ['openAPISpec', { openAPISpec: {} }],
      ['openAPISpec', { openAPISpec: { url: 'http://a.test', inline: '{}' } }],
      ['refreshInterval', { openAPISpec: { inline: '{}', refreshInterval: '1h' } }],
      ['refreshInterval', { openAPISpec: { url: 'http://a.test', refreshInterval: 'soon' } }],
      ['key', { openAPISpec: { configMapRef: { name: 'a' } } }],
      ['name', { openAPISpec: { secretRef: longReference } }],
      ['name', { openAPISpec: { secretRef: { name: '../secret', key: 'k' } } }],
      ['methods', { selector: { methods: ['FETCH'] } }],
      ['pathPrefix', { selector: { pathPrefix: 'no-slash' } }],
      ['tags', { selector: { tags: 'orders' } }],
      ['timeout', { toolDefaults: { timeout: '30' } }],
      ['requestsPerMinute', { toolDefaults: { rateLimit: { requestsPerMinute: 0 } } }],
      ['requestsPerMinute', { toolDefaults: { rateLimit: { burst: 1 } } }],
      ['burst', { toolDefaults: { rateLimit: { requestsPerMinute: 1, burst: 0 } } }],
      ['type', { toolDefaults: { authentication: { type: 'oauth' } } }],
      ['secret', { toolDefaults: { authentication: { type: 'bearer' } } }],
      ['prefix', { naming: { prefix: 'a b' } }],
      ['suffix', { naming: { suffix: 'x'.repeat(41) } }],
      ['useOperationId', { naming: { useOperationId: 'no' } }],
    ]
    const names = rows.map(() => next().name)
    const refusals = new Map<string, string | undefined>()
    beforeAll(async () => {
      for (const [i, [, spec]] of rows.entries()) {
        refusals.set(names[i]!, await world.put(names[i]!, { ...inline('op'), ...spec }))
      }
    })

    it.each(rows.map((row, i) => [...row, names[i]!] as const))(
      '%s: %o is refused or an Error, with the field named',
      async (field, _, name) => {
        const said = refusals.get(name) ?? (await phaseOf(world, name, 'Error')).lastError
        expect(said).toContain(field)
        expect(namesOf(world, name)).toBe('')
      },
    )
  })
}
