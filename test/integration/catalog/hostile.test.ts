/** Hostile documents and servers, and the bounds of the compiler: a fault with a message or sound tools, in time, and no other tool set is disturbed. */
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { compileValidator } from '../../../src/base/json-schema/validate.ts'
import { createCompiler } from '../../../src/catalog/sync/compiler.ts'
import { toolSet } from '../../unit/catalog/build.ts'
import {
  Deployment,
  documentOf,
  inline,
  serve,
  toolSetResource,
  until,
} from '../../unit/catalog/deployment.ts'
import { hostileDocuments } from '../../unit/catalog/hostile-documents.ts'

const all = hostileDocuments()

describe('300 hostile documents', () => {
  const compiler = createCompiler({ timeoutMs: 20_000, maxHeapMb: 512, idleMs: 1000 })
  afterAll(() => compiler.close())

  it('are 300', () => {
    expect(all).toHaveLength(300)
  })

  it.each(all)('$name', async ({ document, expected }) => {
    const before = performance.now()
    const outcome = await compiler.compile({ document, toolSet: toolSet() })
    expect(performance.now() - before).toBeLessThan(20_000)
    if (outcome.kind === 'fault') {
      expect(outcome.message.length).toBeGreaterThan(10)
      expect(outcome.message.length).toBeLessThan(700)
    } else {
      expect(expected).toBe('any')
      if (outcome.kind !== 'compiled') throw new Error(outcome.kind)
      for (const tool of outcome.result.tools) {
        expect(tool.name).toMatch(/^[A-Za-z0-9_.-]{1,64}$/)
        expect(JSON.stringify(tool.inputSchema).length).toBeLessThan(200_000)
        expect(
          compileValidator(tool.inputSchema)({}).some(fault => fault.message.includes('cannot be checked')),
        ).toBe(false)
      }
    }
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })
})

describe('bounds of the compiler', () => {
  const big = JSON.stringify({
    openapi: '3.1.0',
    paths: Object.fromEntries(
      Array.from({ length: 30_000 }, (_, i) => [
        `/p${i}`,
        { get: { operationId: `o${i}`, description: 'x'.repeat(200) } },
      ]),
    ),
  })

  it('on time end the worker, and the next document is compiled by another', async () => {
    const limits = { timeoutMs: 50, maxHeapMb: 512, idleMs: 1000 }
    const compiler = createCompiler(limits)
    expect(await compiler.compile({ document: big, toolSet: toolSet() })).toMatchObject({
      kind: 'fault',
      message: expect.stringContaining('takes longer than'),
    })
    // the start of another worker takes longer than 50 ms
    limits.timeoutMs = 20_000
    expect((await compiler.compile({ document: documentOf('a'), toolSet: toolSet() })).kind).toBe('compiled')
    await compiler.close()
  })

  it('on memory are reported, and the process continues', async () => {
    const compiler = createCompiler({ timeoutMs: 30_000, maxHeapMb: 40, idleMs: 1000 })
    expect(await compiler.compile({ document: big, toolSet: toolSet() })).toMatchObject({
      kind: 'fault',
      message: expect.stringContaining('MB of memory'),
    })
    expect((await compiler.compile({ document: documentOf('a'), toolSet: toolSet() })).kind).toBe('compiled')
    await compiler.close()
  })
})

describe('a hostile server', () => {
  let d: Deployment
  beforeEach(() => {
    d = new Deployment()
    d.write('good.yaml', toolSetResource('good', inline('g')))
  })
  afterEach(() => d.close())

  it.each<[string, Parameters<typeof serve>[0], string]>([
    [
      'a gzip bomb',
      (_, r) => r.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(200_000_000))),
      'larger than 48 MB',
    ],
    [
      'a redirect to a private address',
      (_, r) => r.writeHead(302, { location: 'http://169.254.169.254/latest' }).end(),
      'the gateway does not follow redirects',
    ],
    ['50 MB', (_, r) => r.end(Buffer.alloc(50_000_000, 0x20)), 'larger than 48 MB'],
    ['a status 500', (_, r) => r.writeHead(500).end('secret stack trace'), 'status 500'],
    ['HTML with status 200', (_, r) => r.end('<html>login</html>'), 'HTML'],
    ['a connection that breaks', (_, r) => r.destroy(), 'cannot be fetched'],
    [
      'a body that breaks',
      (_, r) => {
        r.writeHead(200, { 'content-length': '1000' })
        r.write('{"openapi"')
        setTimeout(() => r.destroy(), 20)
      },
      'cannot be fetched',
    ],
    ['not modified without being asked', (_, r) => r.writeHead(304).end(), 'status 304'],
  ])('with %s puts the tool-set into Error, and disturbs no other', async (_, handler, reason) => {
    const server = await serve(handler)
    d.write('bad.yaml', toolSetResource('bad', { openAPISpec: { url: server.url } }))
    await d.start()
    await until(() => d.status('bad')?.phase === 'Error', 'the Error phase')
    expect(d.status('bad')?.lastError).toContain(reason)
    expect(d.names).toEqual(['g'])
    await server.close()
  })

  it.each(['http://169.254.169.254/', 'http://10.0.0.1/', 'http://[::ffff:10.0.0.1]/x'])(
    '%s is not reached',
    async url => {
      d.write('bad.yaml', toolSetResource('bad', { openAPISpec: { url } }))
      await d.start()
      expect(d.status('bad')).toMatchObject({
        phase: 'Error',
        lastError: expect.stringMatching(/cannot be fetched: .* which outgoing calls may not reach\./),
      })
    },
  )
})
