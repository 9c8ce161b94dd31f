/** Calls of upstreams on Unix sockets: the exchange itself, and that no spelling or link reaches a socket that the operator does not list. */
import { spawn } from 'node:child_process'
import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Egress, EgressFailure, EgressRequest } from '../../../src/net/egress/egress.ts'
import { httpOnly } from '../../../src/net/egress/http-only.ts'
import { readArrived } from './backend.ts'
import { client, keep, overBoth, text } from './carriers.ts'
import { socketFolder, type UnixBackend, unixBackend, unixUrl } from './unix-backend.ts'

const folder = socketFolder()
/** For one test. */
let own: string
let tests = 0
const shop = join(folder.path, 'backends', 'shop.sock')
const private_ = join(folder.path, 'engine.sock')
let backend: UnixBackend
/** Not listed: stands for the socket of a container engine. */
let canary: UnixBackend

beforeAll(async () => {
  mkdirSync(join(folder.path, 'backends'))
  backend = await unixBackend(shop, async (request, response) => {
    let bytes = 0
    for await (const chunk of request) bytes += chunk.length
    const { host, connection } = request.headers
    const seen = { method: request.method, url: request.url, host, connection, bytes }
    response.setHeader('content-type', 'application/json')
    if (request.url === '/gzip') response.setHeader('content-encoding', 'gzip').end(gzipSync('packed'))
    else response.end(JSON.stringify(seen))
  })
  canary = await unixBackend(private_, (_, response) => response.end('canary'))
})
beforeEach(() => {
  own = join(folder.path, 'backends', String(++tests))
  mkdirSync(own)
})
afterAll(async () => {
  await backend.close()
  await canary.close()
  folder.remove()
})

const listing = (...allow: string[]): Egress => client({ allow, unixSockets: true })
const to = (url: string, more: Partial<EgressRequest> = {}): EgressRequest => ({
  method: 'GET',
  url,
  headers: [],
  timeoutMs: 5000,
  maxResponseBytes: 1 << 24,
  ...more,
})
async function failed(egress: Egress, url: string): Promise<EgressFailure> {
  const outcome = await egress.request(to(url))
  expect(outcome.kind, url).toBe('failure')
  const streamed = await egress.stream({ method: 'GET', url, headers: [], timeoutMs: 5000 })
  expect(streamed, url).toMatchObject({ kind: 'failure', reason: (outcome as EgressFailure).reason })
  return outcome as EgressFailure
}
async function json(egress: Egress, url: string, more: Partial<EgressRequest> = {}) {
  const outcome = await egress.request(to(url, more))
  if (outcome.kind !== 'response') throw new Error(outcome.message)
  return JSON.parse(text(outcome.body))
}
async function* pieces(count: number, bytes: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < count; at++) yield new Uint8Array(bytes)
}

overBoth('a listed Unix socket', () => {
  it('is called with HTTP/1.1 and Host: localhost, path and query as given', async () => {
    const egress = listing(`unix:${shop}`)
    const sent = { method: 'POST', body: 'hello' }
    expect(await json(egress, `${backend.url}/a%2Fb?c=d%20e`, sent)).toMatchObject({
      method: 'POST',
      url: '/a%2Fb?c=d%20e',
      host: 'localhost',
      bytes: 5,
    })
    expect(await json(egress, backend.url)).toMatchObject({ method: 'GET', url: '/' })
    expect(await json(egress, `${backend.url}?q=1`)).toMatchObject({ url: '/?q=1' })
    const packed = await egress.request(to(`${backend.url}/gzip`))
    expect(packed.kind === 'response' && text(packed.body)).toBe('packed')
  })

  it('keeps its connections: in every spelling of the address it is the same one', async () => {
    const egress = listing(`unix:${shop}`)
    const before = backend.connections()
    const spellings = [
      backend.url,
      backend.url.replaceAll('%2F', '%2f'),
      backend.url.replace('http+unix', 'HTTP+UNIX'),
      backend.url.replace('shop', '%73hop'),
    ]
    for (const url of [...spellings, ...spellings]) await json(egress, `${url}/x`)
    // undici opens a second one when it is called again in the turn of a response
    expect(backend.connections() - before).toBeLessThanOrEqual(2)
  })

  it('takes a streamed upload and returns a large response piece by piece', async () => {
    const path = join(own, 'large.sock')
    const large = keep(
      await unixBackend(path, async (request, response) => {
        let bytes = 0
        for await (const chunk of request) bytes += chunk.length
        response.writeHead(200, { 'x-received': String(bytes) })
        for (let at = 0; at < 320; at++)
          if (!response.write(Buffer.alloc(64 * 1024, at)))
            await new Promise(go => response.once('drain', go))
        response.end()
      }),
    )
    const outcome = await listing(`unix:${path}`).stream({
      method: 'PUT',
      url: large.url,
      headers: [],
      timeoutMs: 5000,
      body: pieces(100, 50_000),
    })
    if (outcome.kind !== 'response') throw new Error(outcome.message)
    expect(outcome.headers.get('x-received')).toBe('5000000')
    let bytes = 0
    for await (const chunk of outcome.body) bytes += chunk.byteLength
    expect(bytes).toBe(320 * 64 * 1024)
  })

  it('of a server that was restarted, its file replaced, is reached again', async () => {
    const path = join(own, 'again.sock')
    const start = () => unixBackend(path, (_, response) => response.end('"up"'))
    const egress = listing(`unix:${folder.path}/backends/`)
    for (let round = 0; round < 2; round++) {
      const server = await start()
      expect(await json(egress, unixUrl(path))).toBe('up')
      await server.close()
      await readArrived()
      const gone = await failed(egress, unixUrl(path))
      expect(gone).toMatchObject({ reason: 'unreachable', sent: false })
      expect(gone.message).toBe(`cannot connect to ${unixUrl(path)}: ENOENT`)
    }
    // a file that a killed server left behind
    writeFileSync(path, '')
    expect((await failed(egress, unixUrl(path))).message).toContain('ECONNREFUSED')
    rmSync(path)
    // replaced at once, with the old connections still open
    const old = await start()
    expect(await json(egress, unixUrl(path))).toBe('up')
    renameSync(path, `${path}.old`)
    const next = await start()
    old.server.closeAllConnections()
    await readArrived()
    expect(await json(egress, unixUrl(path))).toBe('up')
    expect(next.connections()).toBe(1)
    await next.close()
    await old.close()
  })

  it('that this user may not open is unreachable', async () => {
    const path = join(own, 'denied.sock')
    const denied = keep(await unixBackend(path, (_, response) => response.end()))
    chmodSync(path, 0o600)
    const egress = listing(`unix:${path}`)
    const isRoot = process.getuid!() === 0
    if (isRoot) process.seteuid!(65_534)
    else chmodSync(path, 0)
    try {
      const { reason, message } = await failed(egress, denied.url)
      expect([reason, message]).toEqual(['unreachable', `cannot connect to ${denied.url}: EACCES`])
    } finally {
      if (isRoot) process.seteuid!(0)
    }
  })

  it('whose queue of connections is full is waited for, as with TCP', async () => {
    const path = join(own, 'busy.sock')
    const script = `require('node:http').createServer((q, s) => s.end('1')).listen({ path: ${JSON.stringify(path)}, backlog: 1 }, () => console.log('up'))`
    const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
    try {
      await new Promise(up => child.stdout.once('data', up))
      child.kill('SIGSTOP')
      const egress = listing(`unix:${path}`)
      const calls = Array.from({ length: 8 }, () => json(egress, unixUrl(path)))
      await sleep(200)
      child.kill('SIGCONT')
      expect(await Promise.all(calls)).toEqual(Array(8).fill(1))
    } finally {
      child.kill('SIGKILL')
    }
  })
})

overBoth('a Unix socket that is not listed', () => {
  it('is not reached, and the failure names the fix', async () => {
    const egress = listing()
    const { reason, sent, message } = await failed(egress, `${canary.url}/secret`)
    expect([reason, sent]).toEqual(['blocked_address', false])
    expect(message).toBe(
      `${private_} is not listed in EGRESS_ALLOW. Add unix:${private_} to EGRESS_ALLOW to allow calls to this Unix socket.`,
    )
  })

  it('ends as a path without a file does', async () => {
    const egress = listing(`unix:${shop}`)
    const missing = join(folder.path, 'missing.sock')
    const { reason, message } = await failed(egress, unixUrl(missing))
    expect(reason).toBe('blocked_address')
    expect(message).toBe((await failed(egress, canary.url)).message.replaceAll(private_, missing))
  })

  it('is not reached by names, wildcards or networks of the list', async () => {
    const egress = client({ unixSockets: true, allow: ['localhost', '0.0.0.0/0', '::/0', `unix:${shop}x`] })
    for (const url of [canary.url, backend.url])
      expect((await failed(egress, url)).reason).toBe('blocked_address')
  })

  it('is not reached by a symbolic link of a listed folder, or by one in its place', async () => {
    mkdirSync(join(own, 'deep', 'er'), { recursive: true })
    const alias = `${own}.sock`
    const entries = [
      ['link.sock', private_],
      ['up', folder.path],
      ['up/engine.sock', undefined],
      ['deep/er/link.sock', '../../../../engine.sock'],
    ] as const
    const egress = listing(`unix:${own}/`, `unix:${alias}`)
    for (const [name, target] of entries) {
      if (target !== undefined) symlinkSync(target, join(own, name))
      if (name === 'up') continue
      const { reason, message } = await failed(egress, unixUrl(join(own, name)))
      expect(reason, name).toBe('blocked_address')
      expect(message).toContain(`leads to ${private_}`)
      expect(message).toContain(`Add unix:${private_} to EGRESS_ALLOW`)
    }
    symlinkSync(private_, alias)
    expect((await failed(egress, unixUrl(alias))).reason).toBe('blocked_address')
  })

  it('is reached through a link where both places are listed, and a folder covers what is below it', async () => {
    const link = `${own}.sock`
    symlinkSync(shop, link)
    const egress = listing(`unix:${folder.path}/backends/`, `unix:${own}/`, `unix:${link}`)
    expect(await json(egress, `${unixUrl(link)}/x`)).toMatchObject({ url: '/x' })
    mkdirSync(join(own, 'deep'))
    const deep = join(own, 'deep', 'd.sock')
    const server = keep(await unixBackend(deep, (_, response) => response.end('"deep"')))
    expect(await json(egress, server.url)).toBe('deep')
    // not a folder of this name
    const beside = keep(
      await unixBackend(join(folder.path, `backends${tests}.sock`), (_, response) => response.end()),
    )
    expect((await failed(egress, beside.url)).reason).toBe('blocked_address')
  })

  it('is not reached by a link whose resolved path is too long for the system', async () => {
    const long = join(own, 'l'.repeat(60), 'm'.repeat(60))
    mkdirSync(long, { recursive: true })
    writeFileSync(join(long, 's.sock'), '')
    symlinkSync(join(long, 's.sock'), join(own, 'short.sock'))
    const egress = listing(`unix:${folder.path}/backends/`)
    const { reason, message } = await failed(egress, unixUrl(join(own, 'short.sock')))
    expect(reason).toBe('blocked_address')
    expect(message).toMatch(/bytes, and the system allows 107/)
  })
})

describe('addresses that name no socket', () => {
  const everything = ['unix:/run/', `unix:${folder.path}/`]
  const inside = encodeURIComponent(`${folder.path}/backends/`)
  it.each([
    ['http+unix://', 'names no Unix socket'],
    ['http+unix:///run/engine.sock', 'names no Unix socket'],
    ['http+unix://run%2Fengine.sock/', 'is not absolute'],
    ['http+unix://engine.sock', 'is not absolute'],
    [`http+unix://${inside}..%2Fengine.sock`, 'contains an empty segment, "." or ".."'],
    [`http+unix://${inside}.%2Fshop.sock`, 'contains an empty segment'],
    [`http+unix://${inside}%2Fshop.sock`, 'contains an empty segment'],
    [`http+unix://${inside}`, 'contains an empty segment'],
    ['http+unix://%2F', 'contains an empty segment'],
    [`http+unix://${inside}shop.sock%00`, 'contains a NUL'],
    ['http+unix://%00abstract', 'is not absolute'],
    [`http+unix://${inside}a%0Ab`, 'control character'],
    [`http+unix://${inside}${'x'.repeat(108)}`, 'bytes, and the system allows 107'],
    [`http+unix://${inside}%ff`, 'not valid percent-encoded UTF-8'],
    [`http+unix://${inside}%zz`, 'not valid percent-encoded UTF-8'],
    [`http+unix://${inside}shop.sock:80/`, 'must not have a port'],
    [`http+unix://user:pass@${inside}shop.sock/`, 'user name or password'],
    ['http+unix:%2Frun%2Fengine.sock', 'not an absolute URL'],
    ['https+unix://%2Frun%2Fengine.sock/', 'neither http nor https'],
    ['unix:///run/engine.sock', 'neither http nor https'],
  ])('%s is refused: %s', async (url, reason) => {
    const refused = await failed(client({ unixSockets: true, allow: everything }), url)
    expect([refused.reason, refused.sent]).toEqual(['unsendable', false])
    expect(refused.message).toContain(reason)
  })
})

describe('clients that are not for upstreams', () => {
  it('call no Unix socket, listed or not', async () => {
    const allow = [`unix:${shop}`]
    const upstreams = client({ allow, unixSockets: true })
    const odd = [
      backend.url,
      `HTTP+UNIX${backend.url.slice(9)}`,
      ` ${backend.url}`,
      `ht\ttp${backend.url.slice(4)}`,
    ]
    for (const egress of [client({ allow }), httpOnly(upstreams)])
      for (const url of odd) {
        const { reason, sent } = await failed(egress, url)
        expect([reason, sent], url).toEqual(['unsendable', false])
      }
    expect((await failed(httpOnly(upstreams), backend.url)).message).toBe(
      'a Unix socket is allowed only as the address of an upstream',
    )
    expect((await upstreams.request(to(backend.url))).kind).toBe('response')
  })

  it('name the scheme, not a Unix socket, when an address has another one', async () => {
    for (const url of ['ftp://files.example/a', 'file:///etc/hosts', 'shop'])
      expect((await failed(httpOnly(client({})), url)).message, url).toBe(
        'the address does not begin with http:// or https://',
      )
  })
})

it('the canary counts no connection, and counts one', async () => {
  expect(canary.connections()).toBe(0)
  const listed = listing(`unix:${private_}`)
  expect((await listed.request(to(canary.url))).kind).toBe('response')
  expect(canary.connections()).toBe(1)
})
