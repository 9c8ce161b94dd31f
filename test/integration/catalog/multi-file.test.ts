/** Documents of several files: what is read, what is refused and what is reported, with real servers and folders. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { failingPromise } from '../../fixtures/failing-disk.ts'
import { Deployment, serve, toolSetResource, until } from '../../unit/catalog/deployment.ts'

type Files = { [path: string]: unknown }

const INFO = { openapi: '3.1.0', info: { title: 'T', version: '1' } }
const get = (operationId: string, rest: object = {}): object => ({ get: { operationId, ...rest } })

let deployment: Deployment
const closers: (() => Promise<void>)[] = []
beforeEach(() => {
  deployment = new Deployment()
})
afterEach(async () => {
  await deployment.close()
  for (const close of closers.splice(0)) await close()
})

/** Serves the files with entity tags and counts the requests; an absent file is 404, a number is a status. */
async function serveFiles(files: Files): Promise<{ readonly url: string; readonly requests: string[] }> {
  const requests: string[] = []
  const server = await serve((request, response) => {
    const path = decodeURIComponent(request.url ?? '')
    requests.push(path)
    const file = files[path]
    if (file === undefined || typeof file === 'number') {
      response.writeHead(file ?? 404, file === 302 ? { location: '/moved.json?sig=canary-7' } : {}).end()
      return
    }
    const text = typeof file === 'string' ? file : JSON.stringify(file)
    const etag = `"${Buffer.from(text).toString('base64url').slice(-60)}${text.length}"`
    if (request.headers['if-none-match'] === etag) response.writeHead(304).end()
    else response.writeHead(200, { etag }).end(text)
  })
  closers.push(() => server.close())
  return { url: server.url, requests }
}

async function start(spec: object): Promise<void> {
  deployment.write('set.yaml', toolSetResource('set', spec))
  await deployment.start()
}

const degraded = () => deployment.status('set')?.conditions.find(c => c.type === 'Degraded')
const phase = () => deployment.status('set')?.phase

describe('url', () => {
  it('reads files of the same origin, YAML and JSON, relative to the file that refers', async () => {
    const { url } = await serveFiles({
      '/openapi.json': {
        ...INFO,
        paths: {
          '/pets': { $ref: './paths/pets%20and%20more.yaml' },
          '/all': { $ref: 'paths/all.json#/~1all' },
        },
      },
      '/paths/pets and more.yaml':
        'post:\n  operationId: addPet\n  requestBody:\n    required: true\n    content:\n      application/json:\n        schema: { $ref: ../schemas/Pet.json }\n',
      '/paths/all.json': { '/all': get('listAll', { parameters: [{ $ref: '../common.yaml#/limit' }] }) },
      '/common.yaml': 'limit: { name: limit, in: query, schema: { type: integer } }\n',
      '/schemas/Pet.json': {
        type: 'object',
        properties: {
          name: { type: 'string' },
          parent: { $ref: 'Pet.json' },
          friends: { $ref: '#/$defs/Friends' },
        },
        $defs: { Friends: { type: 'array', items: { $ref: './Pet.json' } } },
      },
    })
    await start({ openAPISpec: { url } })
    expect(deployment.names).toEqual(['addPet', 'listAll'])
    const [addPet, listAll] = deployment.tools
    expect(Object.keys(addPet!.inputSchema.properties!)).toEqual(['name', 'parent', 'friends'])
    expect(addPet!.inputSchema.$defs).toHaveProperty('Pet')
    expect(listAll!.inputSchema.properties).toEqual({ limit: { type: 'integer' } })
    expect(degraded()).toMatchObject({ status: 'False' })
  })

  it('never requests another origin, and reports the reference with place, reason and fix', async () => {
    const other = await serveFiles({ '/openapi.json': get('stolen') })
    const { url } = await serveFiles({
      '/openapi.json': { ...INFO, paths: { '/a': get('a'), '/b': { $ref: other.url } } },
    })
    await start({ openAPISpec: { url } })
    expect([deployment.names, other.requests]).toEqual([['a'], []])
    const { status, message } = degraded()!
    expect(status).toBe('True')
    expect(message).toContain('operations that did not become tools: 1 (/b: ')
    expect(message).toContain('unresolved references: 1 (#/paths/~1b: $ref http://127.0.0.1:')
    expect(message).toContain(
      'the origin of the document: the gateway reads files from this origin only; serve the file from the origin',
    )
  })

  it.each([
    ['a redirect', 302, 'the gateway does not follow redirects'],
    ['a missing file', 404, 'responded with status 404'],
    ['a file that is not OpenAPI', '<html></html>', 'HTML or XML'],
    ['a file that is cut off', '{ "get": [', 'not valid'],
  ])('%s loses its operations only, and is reported', async (_, file, reason) => {
    const { url } = await serveFiles({
      '/openapi.json': { ...INFO, paths: { '/a': get('a'), '/b': { $ref: 'b.yaml' } } },
      '/b.yaml': file,
    })
    await start({ openAPISpec: { url } })
    expect(deployment.names).toEqual(['a'])
    expect(degraded()).toMatchObject({ status: 'True', message: expect.stringContaining(reason) })
  })

  it('a change in a file is noticed although the document is unmodified', async () => {
    const files: Files = {
      '/openapi.json': { ...INFO, paths: { '/a': { $ref: 'a.json' } } },
      '/a.json': get('before'),
    }
    const { url } = await serveFiles(files)
    await start({ openAPISpec: { url, refreshInterval: '1s' } })
    expect(deployment.names).toEqual(['before'])
    files['/a.json'] = get('after')
    await until(() => deployment.names.join() === 'after', 'the change of the file')
  })

  it('a file that becomes unavailable keeps the last tools, also after a restart', async () => {
    const files: Files = {
      '/openapi.json': { ...INFO, paths: { '/a': { $ref: 'a.json' } } },
      '/a.json': get('kept'),
    }
    const { url } = await serveFiles(files)
    await start({ openAPISpec: { url, refreshInterval: '1s' } })
    files['/a.json'] = 500
    await until(() => phase() === 'Error', 'the error')
    expect(deployment.names).toEqual(['kept'])
    expect(deployment.status('set')?.lastError).toContain('a.json responded with status 500')
    await deployment.stop()
    files['/openapi.json'] = 500
    await deployment.start()
    expect(deployment.names).toEqual(['kept'])
  })
})

describe('ConfigMap in a folder', () => {
  const source = { openAPISpec: { configMapRef: { name: 'docs', key: 'openapi.yaml' } } }
  const root = (reference: string): object => ({
    ...INFO,
    paths: { '/a': get('a'), '/b': { $ref: reference } },
  })

  it('reads its other keys and folders, and notices a change in them', async () => {
    deployment.write('configmaps/docs/openapi.yaml', root('paths/b.json'))
    deployment.write('configmaps/docs/paths/b.json', JSON.stringify(get('b')))
    await start(source)
    expect(deployment.names).toEqual(['a', 'b'])
    deployment.write('configmaps/docs/paths/b.json', JSON.stringify(get('changed')))
    await until(() => deployment.names.join() === 'a,changed', 'the change of the file')
  })

  it('a file that is added later completes the tools', async () => {
    deployment.write('configmaps/docs/openapi.yaml', root('b.json'))
    await start(source)
    expect(deployment.names).toEqual(['a'])
    expect(degraded()?.message).toContain('b.json does not exist')
    deployment.write('configmaps/docs/b.json', JSON.stringify(get('b')))
    await until(() => deployment.names.join() === 'a,b', 'the added file')
  })

  it.each([
    '../other/b.json',
    '../../secrets/s/b.json',
    '..%2Fother%2Fb.json',
    'sub/%2e%2e/%2e%2e/other/b.json',
    'file:///etc/hostname',
    'link.json',
    'linked/b.json',
  ])('%s is not read', async reference => {
    for (const place of ['configmaps/other', 'secrets/s', 'outside'])
      deployment.write(`${place}/b.json`, JSON.stringify(get('stolen')))
    deployment.write('configmaps/docs/openapi.yaml', root(reference))
    const at = (path: string): string => join(deployment.root, 'toolsets', path)
    symlinkSync(at('secrets/s/b.json'), at('configmaps/docs/link.json'))
    symlinkSync(at('outside'), at('configmaps/docs/linked'))
    await start(source)
    expect(deployment.names).toEqual(['a'])
    expect(degraded()?.message).toMatch(
      /#\/paths\/~1b: \$ref .*(not in the folder|symbolic link to a file outside the folder)/,
    )
  })

  it('references in a circle end, of path items and of schemas', async () => {
    const body = { content: { 'application/json': { schema: { $ref: 'schema.yaml' } } } }
    deployment.write('configmaps/docs/openapi.yaml', {
      ...INFO,
      paths: {
        '/a': { $ref: 'a.yaml' },
        '/c': { post: { operationId: 'c', requestBody: body } },
      },
    })
    deployment.write('configmaps/docs/a.yaml', { $ref: 'b.yaml' })
    deployment.write('configmaps/docs/b.yaml', { $ref: 'a.yaml' })
    deployment.write('configmaps/docs/schema.yaml', {
      type: 'object',
      properties: {
        root: { $ref: 'openapi.yaml#/paths/~1c/post/requestBody/content/application~1json/schema' },
      },
    })
    await start(source)
    expect(deployment.names).toEqual(['c'])
    expect(degraded()?.message).toContain('/a: the path item refers to')
  })

  it('at most 1,000 files are read', async () => {
    const names = Array.from({ length: 1003 }, (_, i) => `p${i}`)
    const paths = Object.fromEntries(names.map(name => [`/${name}`, { $ref: `${name}.json` }]))
    mkdirSync(join(deployment.root, 'toolsets/configmaps/docs'), { recursive: true })
    for (const name of names)
      writeFileSync(join(deployment.root, `toolsets/configmaps/docs/${name}.json`), JSON.stringify(get(name)))
    deployment.write('configmaps/docs/openapi.yaml', { ...INFO, paths })
    await start(source)
    expect(deployment.names.length).toBe(1000)
    expect(degraded()?.message).toContain('unresolved references: 3 (')
    expect(degraded()?.message).toContain('refers to more than 1000 files; join the files')
  })
})

describe('the fix of a file that is not available', () => {
  const paths = { '/a': get('a'), '/b': { $ref: 'b.yaml' } }
  const source = { openAPISpec: { configMapRef: { name: 'docs', key: 'openapi.yaml' } } }

  it('is to check the permissions of a file that must not be read', async () => {
    deployment.write('configmaps/docs/openapi.yaml', { ...INFO, paths })
    deployment.write('configmaps/docs/b.yaml', get('b'))
    const end = failingPromise('readFile', 'EACCES', path => String(path).endsWith('/b.yaml'))
    try {
      await start(source)
    } finally {
      end()
    }
    expect(degraded()?.message).toContain('b.yaml cannot be read; check its permissions')
  })

  it('is to create a file that is missing', async () => {
    deployment.write('configmaps/docs/openapi.yaml', { ...INFO, paths })
    await start(source)
    expect(degraded()?.message).toContain('b.yaml does not exist; create the file')
  })

  it('is to check the address of a file that cannot be fetched', async () => {
    const { url } = await serveFiles({ '/openapi.json': { ...INFO, paths }, '/b.yaml': 503 })
    await start({ openAPISpec: { url } })
    expect(degraded()?.message).toMatch(
      /b\.yaml responded with status 503; correct the reference, or check that the gateway can fetch/,
    )
  })
})

describe('an address with a credential in its query', () => {
  it('is fetched as it is, and shown in the status without the query', async () => {
    const { url, requests } = await serveFiles({
      '/openapi.json?sig=canary-1': {
        ...INFO,
        paths: {
          '/a': get('a', {
            parameters: [{ name: 'x', in: 'query', schema: { $ref: 'x.yaml?sig=canary-8#/Pet' } }],
          }),
          '/b': { $ref: 'b.yaml?sig=canary-2' },
          '/c': { $ref: 'c.yaml?sig=canary-3#/paths' },
          '/d': { $ref: 'https://user:canary-4@files.example/d.yaml?sig=canary-5' },
          '/e': { $ref: 'e.yaml?sig=canary-6' },
        },
      },
      '/b.yaml?sig=canary-2': 503,
      '/c.yaml?sig=canary-3': { other: 1 },
      '/e.yaml?sig=canary-6': 302,
    })
    await start({ openAPISpec: { url: `${url}?sig=canary-1` } })
    expect(requests).toContain('/b.yaml?sig=canary-2')
    expect(deployment.names).toEqual(['a'])
    const { message } = degraded()!
    expect(message).toContain('$ref b.yaml: ')
    expect(message).toMatch(/http:\/\/127\.0\.0\.1:\d+\/b\.yaml responded with status 503/)
    expect(message).toMatch(/e\.yaml redirects to \/moved\.json, but/)
    expect(message).toContain('https://files.example/d.yaml is not at')
    expect(message).toContain('c.yaml has no value at /paths')
    expect(JSON.stringify([deployment.status('set'), deployment.logged])).not.toContain('canary-')
  })

  it('is shown likewise when the document itself cannot be fetched', async () => {
    const { url } = await serveFiles({ '/openapi.json?sig=canary-1': 503 })
    await start({ openAPISpec: { url: `${url}?sig=canary-1` } })
    expect(JSON.stringify(deployment.status('set'))).toContain('/openapi.json responded with status 503')
    expect(JSON.stringify([deployment.status('set'), deployment.logged])).not.toContain('canary-')
  })
})

describe.each([
  [
    'an inline document',
    'provide the document by url or configMapRef, or join the files',
    { inline: JSON.stringify({ ...INFO, paths: { '/a': get('a'), '/b': { $ref: 'b.yaml' } } }) },
  ],
  [
    'a document in a Secret',
    'move the document and its files to a ConfigMap, or join the files',
    { secretRef: { name: 's', key: 'doc' } },
  ],
])('%s', (what, fix, openAPISpec) => {
  it('has no files, which is reported', async () => {
    deployment.write('secrets/s/doc', { ...INFO, paths: { '/a': get('a'), '/b': { $ref: 'b.yaml' } } })
    deployment.write('secrets/s/b.yaml', get('stolen'))
    await start({ openAPISpec })
    expect(deployment.names).toEqual(['a'])
    expect(degraded()?.message).toContain(`${what} cannot refer to other files; ${fix}`)
  })
})
