/** Where bundles come from: a file or an HTTP server; how often each is asked, and how often a refused bundle is offered again. */
import { mkdtempSync, renameSync, rmSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createEgress } from '../../../src/net/egress/client.ts'
import { BUNDLE_LIMITS } from '../../../src/policy/bundle.ts'
import { fileSource } from '../../../src/policy/live/file-source.ts'
import { httpSource } from '../../../src/policy/live/http-source.ts'
import { retryAfter, type Watching, watchSource } from '../../../src/policy/live/source.ts'

const dir = mkdtempSync(join(tmpdir(), 'bundles-'))
afterAll(() => rmSync(dir, { recursive: true }))

describe('a bundle in a file', () => {
  const path = join(dir, 'bundle.tar.gz')

  it('is read when the file is new or has changed, and not otherwise', async () => {
    writeFileSync(path, 'one')
    const source = fileSource(path)
    expect(source.name).toBe(path)
    expect(await source.read()).toEqual(Buffer.from('one'))
    expect(await source.read()).toBeUndefined()
    utimesSync(path, 1, 1)
    expect(await source.read()).toEqual(Buffer.from('one'))
    writeFileSync(join(dir, 'next'), 'two')
    utimesSync(join(dir, 'next'), 1, 1)
    renameSync(join(dir, 'next'), path)
    expect(await source.read()).toEqual(Buffer.from('two'))
    expect(await source.read()).toBeUndefined()
  })

  it('that is missing or too large is an error each time', async () => {
    const large = join(dir, 'large')
    writeFileSync(large, '')
    truncateSync(large, BUNDLE_LIMITS.maxCompressedBytes + 1)
    for (let reads = 0; reads < 2; reads++) {
      await expect(fileSource(join(dir, 'none')).read()).rejects.toThrow(/ENOENT/)
      await expect(fileSource(large).read()).rejects.toThrow(/more than the limit of \d+$/)
    }
    truncateSync(large, BUNDLE_LIMITS.maxCompressedBytes)
    expect(await fileSource(large).read()).toHaveLength(BUNDLE_LIMITS.maxCompressedBytes)
  })
})

describe('a bundle behind an address', () => {
  const egress = createEgress({ allow: [], allowLoopback: true })
  const seen: IncomingMessage['headers'][] = []
  let respond: (response: ServerResponse) => void
  const server = createServer((request, response) => {
    seen.push(request.headers)
    respond(response)
  })
  let address: string
  beforeAll(async () => {
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterAll(async () => {
    await egress.close()
    server.close()
  })

  it('is asked for with the ETag it had, and has not changed on 304', async () => {
    const source = httpSource(`${address}/bundle?token=secret`, egress)
    expect(source.name).toBe(`${address}/bundle`)
    respond = response => response.writeHead(200, { etag: '"v1"' }).end('one')
    expect(Buffer.from((await source.read())!).toString()).toBe('one')
    respond = response => response.writeHead(304).end()
    expect(await source.read()).toBeUndefined()
    expect(seen.map(headers => [headers.accept, headers['if-none-match']])).toEqual([
      ['application/gzip', undefined],
      ['application/gzip', '"v1"'],
    ])
  })

  it('is asked for with the present token', async () => {
    let token = 'first'
    const source = httpSource(`${address}/bundle`, egress, () => token)
    respond = response => response.writeHead(200).end('one')
    await source.read()
    token = 'second'
    await source.read()
    expect(seen.slice(-2).map(headers => headers.authorization)).toEqual(['Bearer first', 'Bearer second'])
  })

  it('is an error when the server responds otherwise or not at all', async () => {
    respond = response => response.writeHead(404).end()
    await expect(httpSource(`${address}/bundle`, egress).read()).rejects.toThrow(/\/bundle .* 404$/)
    await expect(httpSource('http://127.0.0.1:1/bundle', egress).read()).rejects.toThrow(
      /:1\/bundle cannot be read/,
    )
  })
})

describe('a source that is watched', () => {
  let watching: Watching
  afterEach(() => watching.stop())

  it('is asked again and again, one question at a time, until it is stopped', async () => {
    const taken: string[] = []
    let asked = 0
    let running = 0
    watching = watchSource(
      {
        name: 'test',
        async read() {
          expect(++running).toBe(1)
          await sleep(5)
          running--
          return Buffer.from(`${++asked}`)
        },
      },
      1,
      async bundle => taken.push(bundle.toString()) > 0,
      () => {},
    )
    await expect.poll(() => taken.slice(0, 3)).toEqual(['1', '2', '3'])
    await watching.stop()
    const before = [asked, taken.length]
    await sleep(40)
    expect([asked, taken.length]).toEqual(before)
  })

  it('offers nothing that was read while it was being stopped', async () => {
    const taken: unknown[] = []
    let respond: (bundle: Uint8Array) => void = () => {}
    const reading = new Promise<void>(resolve => {
      watching = watchSource(
        {
          name: 'test',
          read() {
            resolve()
            return new Promise<Uint8Array>(done => {
              respond = done
            })
          },
        },
        1,
        async bundle => taken.push(bundle) > 0,
        () => {},
      )
    })
    await reading
    const stopped = watching.stop()
    respond(Buffer.from('late'))
    await stopped
    expect(taken).toEqual([])
  })

  it('is asked less and less often while it fails, and as before when it does not', async () => {
    let asked = 0
    const faults: unknown[] = []
    watching = watchSource(
      {
        name: 'test',
        async read() {
          if (asked++ < 4) throw new Error('unreachable')
          return undefined
        },
      },
      20,
      async () => true,
      reason => faults.push(reason),
    )
    const startMs = performance.now()
    await expect.poll(() => faults, { interval: 1 }).toEqual(Array(4).fill('unreachable'))
    // 20, then 40, 80 and 160 ms
    expect(performance.now() - startMs).toBeGreaterThan(290)
    await expect.poll(() => asked, { timeout: 15_000 }).toBeGreaterThan(7)
    // readable again, which is reported once although nothing is new
    expect(faults).toEqual([...Array(4).fill('unreachable'), undefined])
  })

  it('names the next attempt: after one second, then twice as long, a minute at most', () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    const waits = [1, 2, 3, 7, 50].map(attempts => {
      const nowMs = Date.now()
      const retry = retryAfter(attempts)
      expect(retry.attempts).toBe(attempts)
      return Math.round((retry.nextAttemptAt - nowMs) / 100) / 10
    })
    expect(waits).toEqual([1, 2, 4, 60, 60])
  })
})

describe('a bundle that is refused', () => {
  afterEach(() => vi.useRealTimers())

  it('is offered again later each time, once a minute at last, until the source is fixed', async () => {
    vi.useFakeTimers()
    const POLL_MS = 5_000
    let published: Buffer | undefined = Buffer.from('damaged')
    const offers: { readonly text: string; readonly atMs: number }[] = []
    const watching = watchSource(
      {
        name: 'test',
        async read() {
          const bundle = published
          published = undefined
          return bundle
        },
      },
      POLL_MS,
      async bundle => {
        const text = bundle.toString()
        offers.push({ text, atMs: Date.now() })
        return text === 'fixed'
      },
      expect.unreachable,
    )
    const waits = () => offers.slice(1).map(({ atMs }, at) => (atMs - offers[at]!.atMs) / 1_000)
    await vi.advanceTimersByTimeAsync(POLL_MS + 300_000)
    expect(waits()).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60])
    expect(watching.retry?.attempts).toBe(10)

    // another one is offered when it is read, and its attempts are counted from the first
    published = Buffer.from('damaged too')
    await vi.advanceTimersByTimeAsync(POLL_MS + 3_000)
    expect(offers.slice(10).map(({ text }) => text)).toEqual(['damaged too', 'damaged too', 'damaged too'])
    expect(waits().slice(-2)).toEqual([1, 2])

    published = Buffer.from('fixed')
    await vi.advanceTimersByTimeAsync(POLL_MS)
    expect(offers.at(-1)).toMatchObject({ text: 'fixed' })
    expect(watching.retry).toBeUndefined()
    const before = offers.length
    await vi.advanceTimersByTimeAsync(300_000)
    expect(offers).toHaveLength(before)
    await watching.stop()
  })
})
