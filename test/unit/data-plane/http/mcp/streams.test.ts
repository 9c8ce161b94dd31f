/** Open event streams on real listeners and sockets, with a clock that the test moves: heartbeats, reasons to end. */

import { connect, type Socket } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { OpenStream, type StreamEnd, Streams } from '../../../../../src/data-plane/http/mcp/streams.ts'
import { EVERYTHING } from '../../../../../src/data-plane/pipeline/selection.ts'
import type { Snapshot } from '../../../../../src/data-plane/snapshot/snapshot.ts'
import { principal } from '../../../../../src/model/principal.ts'
import { type Refusal, refuse } from '../../../../../src/model/refusal.ts'
import type { ResponseStream } from '../../../../../src/net/server/listener.ts'
import { onEachListener, openListener } from '../../../../contract/listener/kit.ts'

const OWNER = {
  principal: principal({
    kind: 'token',
    subject: 's',
    consumer: 'c',
    tenant: 'acme',
    roles: [],
    scopes: [],
    subscriptionId: undefined,
    expiresAtMs: Number.MAX_SAFE_INTEGER,
  }),
  tenant: 'acme',
  operation: { action: 'session' },
  access: 'jsonrpc',
  receivedAtMs: 0,
  selection: EVERYTHING,
  version: '2025-06-18',
} as const
/** As specified. */
const LIMITS = { heartbeatMs: 15_000, idleTimeoutMs: 30_000, maxDurationMs: 3_600_000 }
const TICK_MS = 50
const LOOKS_MS = 4 * TICK_MS
const PIECE = 64 * 1024

onEachListener('open streams', kind => {
  let streams: Streams
  let socket: Socket
  let nowMs = 0
  let ended: StreamEnd[] = []
  let received = ''
  let endAccess: (why: Refusal) => void = () => {}

  /** Opens one stream; its client reads or does not. */
  async function open(reads: boolean): Promise<{ stream: OpenStream; raw: ResponseStream }> {
    nowMs = 1_000_000
    ended = []
    received = ''
    streams = new Streams(
      LIMITS,
      {
        open(_opened, _snapshot, end) {
          endAccess = end
          return () => {}
        },
      },
      why => ended.push(why),
      () => nowMs,
      TICK_MS,
    )
    let opened: (both: { stream: OpenStream; raw: ResponseStream }) => void
    const both = new Promise<{ stream: OpenStream; raw: ResponseStream }>(resolve => {
      opened = resolve
    })
    const { port } = await openListener(kind, (_, response) => {
      const raw = response.stream(200, ['content-type', 'text/event-stream'])
      const stream = new OpenStream({
        owner: OWNER,
        stream: raw,
        form: { notification: method => `data: ${method}\n\n`, farewell: () => 'data: farewell\n\n' },
        nowMs,
        onEnd: why => streams.remove(stream, why),
      })
      response.onAbort(() => stream.aborted())
      streams.add(stream, {} as Snapshot)
      stream.write(': open\n\n')
      opened({ stream, raw })
    })
    socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    socket.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n')
    if (reads)
      socket.on('data', chunk => {
        received += chunk.toString('latin1')
      })
    return both
  }
  afterEach(() => {
    streams.close()
    socket.destroy()
  })
  const looks = () => new Promise(resolve => setTimeout(resolve, LOOKS_MS))

  /** Until the system takes no more and a little is kept, well below the bound that cuts. */
  async function fill(raw: ResponseStream): Promise<void> {
    const piece = 'x'.repeat(PIECE)
    for (let at = 0; raw.bufferedBytes === 0; at++) {
      if (at > 1000) throw new Error('the system takes everything')
      raw.write(piece)
      await new Promise(resolve => setTimeout(resolve, 1))
    }
  }

  it('says something before 15 s of silence are over', async () => {
    await open(true)
    await expect.poll(() => received).toContain(': open')
    await looks()
    received = ''
    nowMs += 14_900
    await expect.poll(() => received, { timeout: 15_000 }).toContain(':\n\n')
    expect(ended).toEqual([])
  })

  it('ends a stream to which nothing could be written for 30 s, not before', async () => {
    const { raw } = await open(false)
    await fill(raw)
    await looks()
    nowMs += 29_000
    await looks()
    expect(ended).toEqual([])
    nowMs += 2_000
    await expect.poll(() => ended, { timeout: 15_000 }).toEqual(['idle'])
    expect(streams.size).toBe(0)
  })

  it.each([
    ['tenant_suspended', 'tenant_suspended'],
    ['token_expired', 'access_ended'],
  ] as const)('whose caller loses access by %s ends with %s', async (reason, expected) => {
    await open(true)
    endAccess(refuse(reason))
    await expect.poll(() => ended, { timeout: 15_000 }).toEqual([expected])
    await expect.poll(() => received, { timeout: 15_000 }).toContain('data: farewell')
  })

  it('keeps a stream that is silent but read', async () => {
    await open(true)
    nowMs += 3_000_000
    await looks()
    expect(ended).toEqual([])
  })

  it('ends a stream after an hour with its last words', async () => {
    await open(true)
    nowMs += 3_600_000
    await looks()
    expect(ended).toEqual([])
    nowMs += 1000
    await expect.poll(() => ended, { timeout: 15_000 }).toEqual(['max_duration'])
    await expect.poll(() => received, { timeout: 15_000 }).toContain('data: farewell')
  })

  it('distinguishes a client that disconnected from one that was cut because it did not read', async () => {
    await open(true)
    await expect.poll(() => received).toContain(': open')
    socket.destroy()
    await expect.poll(() => ended, { timeout: 15_000 }).toEqual(['client'])
    streams.close()

    const { stream, raw } = await open(false)
    await fill(raw)
    for (let at = 0; at < 8; at++) stream.write('x'.repeat(PIECE))
    await expect.poll(() => ended, { timeout: 15_000 }).toEqual(['slow_reader'])
  })
})
