/** The directory source: phases, changes of files and of meaning, failures, collisions, edits, documents behind a URL. */
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  API_VERSION,
  Deployment,
  documentOf,
  inline,
  serve,
  toolSetResource,
  until,
} from '../../unit/catalog/deployment.ts'

const placeholder = (name: string, rest = '') => `$\{${name}}${rest}`

let d: Deployment
beforeEach(() => {
  d = new Deployment()
})
afterEach(() => d.close())

describe('a tool-set', () => {
  it('becomes Ready, with its status in a file', async () => {
    d.write('shop.yaml', toolSetResource('shop', inline('listOrders', 'getOrder')))
    await d.start()
    expect(d.names).toEqual(['getOrder', 'listOrders'])
    const status = d.status('shop')!
    expect(status).toMatchObject({ phase: 'Ready', toolCount: 2, tools: ['getOrder', 'listOrders'] })
    expect(status.specHash).toMatch(/^[0-9a-f]{64}$/)
    expect(Date.parse(status.lastSyncedAt!)).toBeGreaterThan(Date.now() - 60_000)
    expect(status.conditions.map(c => [c.type, c.status])).toEqual([
      ['Ready', 'True'],
      ['Synced', 'True'],
      ['Degraded', 'False'],
      ['DefinitionChanged', 'False'],
    ])
  })

  it('has the same specHash for any order and format of its document', async () => {
    const json =
      '{"openapi":"3.1.0","info":{"title":"T","version":"1"},"paths":{"/a":{"get":{"operationId":"a"}}}}'
    const yaml = 'paths: {/a: {get: {operationId: a}}}\ninfo: {version: "1", title: T}\nopenapi: 3.1.0\n'
    d.write('a.yaml', toolSetResource('one', { openAPISpec: { inline: json } }))
    d.write('b.yaml', toolSetResource('two', { openAPISpec: { inline: yaml }, naming: { prefix: 'b_' } }))
    await d.start()
    expect(d.status('one')?.specHash).toBe(d.status('two')?.specHash)
  })

  it('with enabled: false is Disabled and serves nothing', async () => {
    d.write('shop.yaml', toolSetResource('shop', { ...inline('a'), enabled: false }))
    await d.start()
    expect(d.names).toEqual([])
    expect(d.status('shop')).toMatchObject({ phase: 'Disabled', toolCount: 0 })
  })

  it('reads its document from configmaps/ and its credential from secrets/', async () => {
    d.write('configmaps/specs/shop.json', documentOf('a'))
    d.write('secrets/backend/token', 's3cret\n')
    d.write(
      'shop.yaml',
      toolSetResource('shop', {
        openAPISpec: { configMapRef: { name: 'specs', key: 'shop.json' } },
        toolDefaults: { authentication: { type: 'bearer', secretRef: { name: 'backend', key: 'token' } } },
      }),
    )
    await d.start()
    expect(d.tools[0]?.authentication).toEqual({ type: 'bearer', credential: 's3cret' })
    d.write('configmaps/specs/shop.json', documentOf('a', 'b'))
    await until(() => d.names.join() === 'a,b', 'the changed configmap')
    d.write('secrets/backend/token', 'rotated')
    await until(() => d.tools[0]?.authentication.credential === 'rotated', 'the changed secret')
  })

  it('without its secret has an error that names the missing file', async () => {
    d.write(
      'shop.yaml',
      toolSetResource('shop', {
        ...inline('a'),
        toolDefaults: { authentication: { type: 'bearer', secretRef: { name: 'backend', key: 'token' } } },
      }),
    )
    await d.start()
    expect(d.status('shop')?.lastError).toContain('secrets/backend/token does not exist')
  })

  it('names the operations that did not become tools in a condition', async () => {
    const document = JSON.parse(documentOf('good')) as { paths: Record<string, unknown> }
    document.paths['/bad'] = { get: { operationId: 'bad', parameters: [{ $ref: '#/nowhere' }] } }
    d.write('shop.yaml', toolSetResource('shop', { openAPISpec: { inline: JSON.stringify(document) } }))
    await d.start()
    const degraded = d.status('shop')?.conditions.find(c => c.type === 'Degraded')
    expect(degraded).toMatchObject({ status: 'True', reason: 'OperationsSkipped' })
    expect(degraded?.message).toContain('bad: a parameter cannot be read')
  })

  it('fills placeholders from the closed map only', async () => {
    d.write('shop.yaml', toolSetResource('shop', { ...inline('a'), baseURL: placeholder('BACKEND', '/v1') }))
    d.write('other.yaml', toolSetResource('other', { ...inline('b'), baseURL: placeholder('HOME') }))
    await d.start({ BACKEND: 'http://one.test' })
    expect(d.tools.map(tool => tool.request.baseUrl)).toEqual(['http://one.test/v1'])
    expect(d.status('other')?.lastError).toContain(
      `spec.baseURL contains ${placeholder('HOME')}, which is not a known placeholder`,
    )
  })
})

describe('a change', () => {
  it('adds and removes tools, and takes the whole tool-set away with its file', async () => {
    d.write('shop.yaml', toolSetResource('shop', inline('a', 'b')))
    await d.start()
    d.write('shop.yaml', toolSetResource('shop', inline('b', 'c')))
    await until(() => d.names.join() === 'b,c', 'the new tools')
    d.remove('shop.yaml')
    await until(() => d.names.length === 0, 'the removal')
    await until(() => d.status('shop') === undefined, 'the removal of the status')
  })

  it('goes on where what is stored of a removed tool-set cannot be deleted', async () => {
    d.write('shop.yaml', toolSetResource('shop', inline('a')))
    await d.start()
    const definitions = join(d.root, 'data/definitions')
    const [file, ...others] = readdirSync(definitions)
    expect(others).toEqual([])
    // a folder in its place is not deleted as a file
    rmSync(join(definitions, file!))
    mkdirSync(join(definitions, file!))
    d.remove('shop.yaml')
    await until(() => d.names.length === 0, 'the removed tools')
    await until(() => d.status('shop') === undefined, 'the removed status')
    expect(d.logged).toContainEqual({
      fields: expect.objectContaining({ tool_set: 'shop', namespace: 'tenant-acme' }),
      message: 'the stored files of a removed tool set could not be deleted',
    })
  })

  it('that changes no tool publishes nothing', async () => {
    d.write('shop.yaml', toolSetResource('shop', inline('a')))
    await d.start()
    d.write('shop.yaml', `# a remark\n${JSON.stringify(toolSetResource('shop', inline('a')))}`)
    // its line in the log shows that the remark has been read, so the next change is read after it
    d.write('note.yaml', { openapi: '3.1.0', info: {}, paths: {} })
    await until(() => d.logged.some(({ fields }) => fields.resource === 'note.yaml'), 'the unusable file')
    d.write('new.yaml', toolSetResource('new', inline('n')))
    await until(() => d.names.includes('n'), 'the second tool-set')
    expect(d.published).toHaveLength(2)
  })
})

describe('a change of meaning', () => {
  const document = (summary: string, parameters: readonly object[]) =>
    JSON.stringify({
      openapi: '3.1.0',
      info: { title: 'T', version: '1' },
      paths: { '/a': { get: { operationId: 'a', summary, parameters } } },
    })
  const inQuery = (name: string, type: string, required = false) => ({
    name,
    in: 'query',
    required,
    schema: { type },
  })
  const condition = () => d.status('shop')?.conditions.find(c => c.type === 'DefinitionChanged')

  it('raises DefinitionChanged, also across a restart, until the document is accepted', async () => {
    d.write('shop.yaml', toolSetResource('shop', { openAPISpec: { inline: document('Reads.', []) } }))
    await d.start()
    await d.stop()
    const changed = toolSetResource('shop', { openAPISpec: { inline: document('Deletes everything.', []) } })
    d.write('shop.yaml', changed)
    await d.start()
    expect(condition()).toMatchObject({ status: 'True', message: expect.stringContaining('changed: a;') })
    await d.stop()
    await d.start()
    expect(condition()?.status).toBe('True')
    const annotations = { 'toolgate.dev/accepted-spec-hash': d.status('shop')?.specHash }
    d.write('shop.yaml', { ...changed, metadata: { name: 'shop', namespace: 'tenant-acme', annotations } })
    await until(() => condition()?.status === 'False', 'the acceptance')
  })

  it('lists what breaks callers', async () => {
    const before = [inQuery('gone', 'string'), inQuery('typed', 'string'), inQuery('optional', 'string')]
    const after = [
      inQuery('typed', 'integer'),
      inQuery('optional', 'string', true),
      inQuery('fresh', 'string', true),
    ]
    d.write('shop.yaml', toolSetResource('shop', { openAPISpec: { inline: document('Reads.', before) } }))
    await d.start()
    expect(d.status('shop')?.breakingChanges).toBeUndefined()
    d.write('shop.yaml', toolSetResource('shop', { openAPISpec: { inline: document('Reads.', after) } }))
    await until(() => d.status('shop')?.breakingChanges !== undefined, 'the breaking changes')
    expect(d.status('shop')?.breakingChanges).toEqual([
      'a: argument gone was removed',
      'a: argument typed was string and is integer',
      'a: argument optional is now required',
      'a: argument fresh is new and required',
    ])
    expect(condition()?.status).toBe('False')
  })
})

describe('a failure', () => {
  it('in one file disturbs no other, and keeps what the file held', async () => {
    d.write('good.yaml', toolSetResource('good', inline('g')))
    d.write('broken.yaml', toolSetResource('broken', inline('b')))
    await d.start()
    d.write('broken.yaml', 'kind: [unclosed')
    await until(() => d.status('broken')?.phase === 'Error', 'the Error phase')
    expect(d.names).toEqual(['b', 'g'])
    expect(d.status('broken')?.lastError).toContain('broken.yaml')
    d.write('broken.yaml', toolSetResource('broken', inline('b2')))
    await until(() => d.names.join() === 'b2,g', 'the corrected file')
    await until(() => d.status('broken')?.phase === 'Ready', 'the Ready phase')
    expect(d.status('broken')?.lastError).toBeUndefined()
  })

  it('of the document keeps the last Ready tools', async () => {
    d.write('shop.yaml', toolSetResource('shop', inline('a')))
    await d.start()
    d.write('shop.yaml', toolSetResource('shop', { openAPISpec: { inline: '<html>' } }))
    await until(() => d.status('shop')?.phase === 'Error', 'the Error phase')
    expect(d.names).toEqual(['a'])
    expect(d.status('shop')).toMatchObject({ toolCount: 1, lastError: expect.stringContaining('HTML') })
  })

  it('in several fields is reported for each of them', async () => {
    d.write('shop.yaml', {
      apiVersion: API_VERSION,
      kind: 'ToolSet',
      metadata: { name: 'shop', namespace: 'tenant-acme' },
      spec: {
        displayName: 'x'.repeat(65),
        baseURL: 'not a url',
        enabled: 'yes',
        colour: 'red',
        openAPISpec: { url: 'http://a.test', inline: '{}' },
        selector: { methods: ['FETCH'] },
        naming: { prefix: 'a b' },
        toolDefaults: { timeout: 'soon', rateLimit: { requestsPerMinute: 0 } },
      },
    })
    await d.start()
    const error = d.status('shop')?.lastError ?? ''
    for (const field of [
      'spec.displayName',
      'spec.baseURL',
      'spec.enabled',
      'spec.colour',
      'spec.openAPISpec',
      'spec.selector.methods',
      'spec.naming.prefix',
      'spec.toolDefaults.timeout',
      'spec.toolDefaults.rateLimit.requestsPerMinute',
    ]) {
      expect(error).toContain(field)
    }
  })

  it.each([
    ['no apiVersion', { kind: 'ToolSet', metadata: {}, spec: {} }, 'apiVersion is missing'],
    ['an OpenAPI document', { openapi: '3.1.0', info: {}, paths: {} }, 'this is an OpenAPI document'],
    ['a namespace of no tenant', toolSetResource('x', inline('a'), 'default'), 'which belongs to no tenant'],
  ])('a file with %s is logged with the reason', async (_, content, reason) => {
    d.write('x.yaml', content)
    await d.start()
    expect(d.logged.some(line => String(line.fields.reason).includes(reason))).toBe(true)
    expect(d.names).toEqual([])
  })
})

describe('tools of one name', () => {
  it('put the later tool-set into Error and leave the earlier serving, also after a restart', async () => {
    d.write('z-first.yaml', toolSetResource('first', inline('same', 'mine')))
    await d.start()
    d.write('a-second.yaml', toolSetResource('second', inline('same', 'other')))
    await until(() => d.status('second')?.phase === 'Error', 'the collision')
    expect(d.status('second')?.lastError).toContain('naming.prefix')
    expect(d.names).toEqual(['mine', 'same'])
    await d.stop()
    await d.start()
    expect([d.status('first')?.phase, d.status('second')?.phase]).toEqual(['Ready', 'Error'])
    d.remove('z-first.yaml')
    await until(() => d.status('second')?.phase === 'Ready', 'the freed name')
    expect(d.names).toEqual(['other', 'same'])
  })

  it('may live with two tenants, but not beside platform', async () => {
    d.write('a.yaml', toolSetResource('a', inline('same'), 'tenant-one'))
    d.write('b.yaml', toolSetResource('b', inline('same'), 'tenant-two'))
    d.write('c.yaml', toolSetResource('c', inline('same'), 'platform'))
    await d.start()
    expect([d.status('a', 'tenant-one')?.phase, d.status('b', 'tenant-two')?.phase]).toEqual([
      'Ready',
      'Ready',
    ])
    expect(d.status('c', 'platform')?.phase).toBe('Error')
    expect(d.tools.map(tool => tool.tenant)).toEqual(['one', 'two'])
  })
})

describe('a Tool resource', () => {
  const tool = (name: string, spec: object) => ({
    apiVersion: API_VERSION,
    kind: 'Tool',
    metadata: { name, namespace: 'tenant-acme' },
    spec,
  })

  it('lays its fields over the generated tool, through every synchronization', async () => {
    d.write('shop.yaml', toolSetResource('shop', inline('listOrders')))
    d.write(
      'edit.yaml',
      tool('listOrders', { description: 'By hand.', annotations: { readOnlyHint: false }, timeout: '5s' }),
    )
    await d.start()
    const edited = {
      description: 'By hand.',
      timeoutMs: 5000,
      annotations: { readOnlyHint: false, idempotentHint: true },
    }
    expect(d.tools[0]).toMatchObject(edited)
    d.write('shop.yaml', toolSetResource('shop', inline('listOrders', 'more')))
    await until(() => d.names.length === 2, 'the second tool')
    expect(d.tools.find(t => t.name === 'listOrders')).toMatchObject(edited)
  })

  it('switches a generated tool off', async () => {
    d.write('shop.yaml', toolSetResource('shop', inline('a', 'b')))
    d.write('off.yaml', tool('a', { enabled: false }))
    await d.start()
    expect(d.names).toEqual(['b'])
  })

  it('makes a new tool from endpoint, method and schema', async () => {
    d.write(
      'ping.yaml',
      tool('ping.host', {
        description: 'Pings.',
        endpoint: 'https://net.test/hosts/{host}/ping',
        method: 'GET',
        inputSchema: { type: 'object', properties: { host: { type: 'string' }, count: { type: 'integer' } } },
      }),
    )
    await d.start()
    expect(d.tools[0]).toMatchObject({
      name: 'ping.host',
      description: 'Pings.',
      request: { method: 'GET', baseUrl: 'https://net.test', path: '/hosts/{host}/ping' },
    })
    expect(d.tools[0]?.request.parameters.map(p => [p.name, p.in])).toEqual([
      ['host', 'path'],
      ['count', 'query'],
    ])
  })

  it('that neither changes nor makes a tool is logged', async () => {
    d.write('lost.yaml', tool('lost', { description: 'x' }))
    await d.start()
    expect(
      d.logged.some(line => String(line.fields.reason).includes('no ToolSet generates a tool of this name')),
    ).toBe(true)
  })
})

describe('a document behind a url', () => {
  it('is fetched again, conditionally, and regenerated only when its hash changes', async () => {
    let body = documentOf('a')
    const seen: (string | undefined)[] = []
    const server = await serve((request, response) => {
      seen.push(request.headers['if-none-match'])
      const etag = `"${body.length}"`
      if (request.headers['if-none-match'] === etag) response.writeHead(304).end()
      else response.writeHead(200, { etag }).end(body)
    })
    d.write('shop.yaml', toolSetResource('shop', { openAPISpec: { url: server.url, refreshInterval: '1s' } }))
    await d.start()
    const first = d.status('shop')!
    await until(() => seen.length >= 3, 'two refreshes', 10_000)
    await until(() => d.status('shop')?.lastSyncedAt !== first.lastSyncedAt, 'a later lastSyncedAt')
    expect(seen[0]).toBeUndefined()
    expect(seen[1]).toBe(`"${body.length}"`)
    expect(d.published).toHaveLength(1)
    body = documentOf('a', 'bb')
    await until(() => d.names.join() === 'a,bb', 'the new tool')
    await until(() => d.status('shop')?.specHash !== first.specHash, 'another specHash')
    await server.close()
  })

  it('that becomes unavailable keeps its tools, and serves them even after a restart', async () => {
    const server = await serve((_, response) => response.end(documentOf('a')))
    d.write('shop.yaml', toolSetResource('shop', { openAPISpec: { url: server.url } }))
    await d.start()
    await server.close()
    await d.stop()
    d.published.length = 0
    await d.start()
    expect(d.names).toEqual(['a'])
    expect(d.status('shop')).toMatchObject({
      phase: 'Error',
      toolCount: 1,
      lastError: expect.stringContaining('cannot be fetched'),
    })
  })

  it('with a relative server is called where the document came from', async () => {
    const document = { ...JSON.parse(documentOf('a')), servers: [{ url: '/v2' }] }
    const server = await serve((_, response) => response.end(JSON.stringify(document)))
    d.write('shop.yaml', toolSetResource('shop', { openAPISpec: { url: server.url }, baseURL: null }))
    await d.start()
    expect(d.tools[0]?.request.baseUrl).toBe(new URL('/v2', server.url).href)
    await server.close()
  })
})
