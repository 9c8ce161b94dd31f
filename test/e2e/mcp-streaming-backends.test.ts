/** Calls of backends that stream, in the legacy and the modern era: pieces become progress, and a cancellation closes the connection to the backend. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type Deployment, deploy, rpc } from '../fixtures/deployment.ts'
import { EventReader } from '../fixtures/event-stream.ts'
import { startOwnTime } from '../fixtures/own-time.ts'
import { FORMS, type StreamingBackend, startStreamingBackend } from '../fixtures/streaming-backend.ts'

const BOTH = 'application/json, text/event-stream'
const MODERN = '2026-07-28'
const KEY = 'io.modelcontextprotocol'
/** A call that would go on for minutes. */
const ENDLESS = 10_000
const ROUNDS = 15
/** From the client's word to the backend's closed connection. */
const WITHIN_MS = 50

interface RunningCall {
  readonly events: EventReader
  /** Takes the call back, in the way of its era. */
  cancel(): void
}

let backend: StreamingBackend
let gateway: Deployment
let token: string
beforeAll(async () => {
  backend = await startStreamingBackend()
  gateway = await deploy({ TOOLSETS: backend.toolSets, SSE_LIMITER_ENABLED: 'false' })
  token = await gateway.token('demo-admin')
})
afterAll(async () => {
  await gateway?.stop()
  await backend?.close()
})

async function send(body: object, headers: Record<string, string>, signal?: AbortSignal): Promise<Response> {
  return fetch(`${gateway.url}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      accept: BOTH,
      'content-type': 'application/json',
      ...headers,
    },
    body: JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  })
}

async function legacyCall(name: string, steps: number): Promise<RunningCall> {
  const initialize = rpc('initialize', { protocolVersion: '2025-11-25', capabilities: {} })
  const opened = await send(initialize, {})
  const headers = { 'mcp-session-id': opened.headers.get('mcp-session-id')! }
  await opened.text()
  const params = { name, arguments: { steps }, _meta: { progressToken: 'p' } }
  const body = rpc('tools/call', params) as { readonly id: number }
  const events = new EventReader(await send(body, headers))
  return {
    events,
    cancel() {
      const requestId = body.id
      void send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } }, headers)
    },
  }
}

async function modernCall(name: string, steps: number): Promise<RunningCall> {
  const _meta = {
    [`${KEY}/protocolVersion`]: MODERN,
    [`${KEY}/clientCapabilities`]: {},
    progressToken: 'p',
  }
  const abort = new AbortController()
  const headers = { 'mcp-protocol-version': MODERN, 'mcp-method': 'tools/call', 'mcp-name': name }
  const body = rpc('tools/call', { name, arguments: { steps }, _meta })
  return {
    events: new EventReader(await send(body, headers, abort.signal)),
    cancel: () => abort.abort(),
  }
}

async function nextMessage(events: EventReader): Promise<{
  readonly method?: string
  readonly params?: { readonly progress: number; readonly progressToken: unknown; readonly message?: string }
  readonly result?: { readonly isError: boolean; readonly content: readonly { readonly text: string }[] }
}> {
  return events.json()
}

describe.each([
  ['2025-11-25', legacyCall],
  [MODERN, modernCall],
] as const)('%s', (_, start) => {
  it.each(FORMS)(
    'reports at least three steps of a backend that streams %s, then the whole response',
    async form => {
      const { events } = await start(`stream_${form}`, 4)
      const steps: number[] = []
      for (;;) {
        const message = await nextMessage(events)
        if (message.method === undefined) {
          expect(message.result).toMatchObject({ isError: false })
          for (let step = 1; step <= 4; step++)
            expect(message.result!.content[0]!.text).toContain(`step ${step}`)
          break
        }
        expect(message).toMatchObject({
          method: 'notifications/progress',
          params: { progressToken: 'p', message: expect.stringContaining('step') },
        })
        steps.push(message.params!.progress)
      }
      expect(steps.length).toBeGreaterThanOrEqual(3)
      expect(steps).toEqual([...new Set(steps)].sort((a, b) => a - b))
    },
  )

  it(`closes the backend's connection within ${WITHIN_MS} ms of a cancellation, in the median`, {
    timeout: 60_000,
  }, async () => {
    const took: number[] = []
    const elapsedMs = startOwnTime()
    for (let round = 0; round < ROUNDS; round++) {
      const call = await start(`stream_${FORMS[round % FORMS.length]}`, ENDLESS)
      expect(await nextMessage(call.events)).toMatchObject({ method: 'notifications/progress' })
      expect(backend.running).toBe(1)
      const cancelledAt = performance.now()
      const cancelledMs = elapsedMs()
      call.cancel()
      await vi.waitFor(() => expect(backend.closedAt).toBeDefined(), { timeout: 20_000, interval: 5 })
      took.push(Math.min(backend.closedAt! - cancelledAt, elapsedMs() - cancelledMs))
    }
    took.sort((a, b) => a - b)
    const median = took[ROUNDS >> 1]!
    console.info(`cancelled → closed: median ${median.toFixed(1)} ms, longest ${took.at(-1)!.toFixed(1)} ms`)
    expect(median).toBeLessThan(WITHIN_MS)
  })
})
