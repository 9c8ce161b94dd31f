/** What the listener suites share: a listener of each kind on a free port, and a client that writes raw bytes. */

import { connect, type Socket } from 'node:net'
import { beforeEach, describe, onTestFinished } from 'vitest'
import {
  createListener,
  isStrictParser,
  type ListenerKind,
  listenerSupport,
} from '../../../src/net/server/create.ts'
import {
  DEFAULT_LISTENER_LIMITS,
  type HttpHandler,
  type Listener,
  type ListenerLimits,
  type ListenerOptions,
  type ListenerRefusal,
} from '../../../src/net/server/listener.ts'
import { freePort } from '../../fixtures/free-ports.ts'

/** Only against what hangs. */
const WAIT_MS = 20_000

export interface OpenListener {
  readonly listener: Listener
  readonly port: number
  readonly url: string
  readonly refused: ListenerRefusal[]
  readonly errors: unknown[]
}

/** The newer build refuses malformed heads itself, with a status, and waits 30 s for progress instead of 10. */
export const isStrictUws = isStrictParser('uws')

/** What draws the lots of a listener: none is drawn, or every one, so that no test depends on chance. */
const DRAWS = { none: () => 1 - Number.EPSILON, every: () => 0 }
let draw = DRAWS.none

type Suite = (kind: ListenerKind) => void

/** One `describe` for each listener; the fast one is skipped by name where its native build does not load. */
export function onEachListener(title: string, suite: Suite): void {
  describeListener('uws', title, suite)
  describeListener('node', title, suite)
}

/** As `onEachListener`, and once more with the fast listener when every response that it decides on by lot is drawn. */
export function onEachListenerAndLot(title: string, suite: Suite): void {
  onEachListener(title, suite)
  describeListener('uws', `${title}, every lot drawn`, suite, DRAWS.every)
}

function describeListener(kind: ListenerKind, title: string, suite: Suite, random = DRAWS.none): void {
  const { kinds, uwsMissing } = listenerSupport()
  const isMissing = !kinds.includes(kind) && process.env.REQUIRE_SERVICES !== '1'
  const reason = isMissing ? ` (skipped: ${uwsMissing}; see docs/decisions/0001-uwebsockets-build.md)` : ''
  describe.skipIf(isMissing)(`${title}, ${kind} listener${reason}`, () => {
    beforeEach(() => {
      draw = random
      onTestFinished(() => {
        draw = DRAWS.none
      })
    })
    suite(kind)
  })
}

export interface OpenOptions extends Partial<Omit<ListenerOptions, 'limits' | 'handler'>> {
  readonly limits?: Partial<ListenerLimits>
}

export async function openListener(
  kind: ListenerKind,
  handler: HttpHandler,
  { limits, ...rest }: OpenOptions = {},
): Promise<OpenListener> {
  const refused: ListenerRefusal[] = []
  const errors: unknown[] = []
  const listener = createListener(kind, {
    host: '127.0.0.1',
    // clients of other tests may still call a port that the kernel gives to one after the other
    port: await freePort(),
    handler,
    allowChunkedRequests: false,
    sharePort: false,
    onRefused: reason => refused.push(reason),
    onHandlerError: error => errors.push(error),
    limits: { ...DEFAULT_LISTENER_LIMITS, ...limits },
    random: draw,
    ...rest,
  })
  onTestFinished(() => listener.close())
  const { port } = await listener.listen()
  return { listener, port, url: `http://127.0.0.1:${port}`, refused, errors }
}

/** A connection whose bytes the test chooses one by one. */
export class RawClient {
  readonly socket: Socket
  received = Buffer.alloc(0)
  receivedBytes = 0
  closed = false
  readonly whenClosed: Promise<void>
  /** false: received bytes are counted, not kept, as for large downloads. */
  keep = true

  constructor(port: number) {
    this.socket = connect({ port, host: '127.0.0.1', noDelay: true })
    onTestFinished(() => void this.socket.destroy())
    this.socket.on('data', chunk => {
      this.receivedBytes += chunk.length
      if (this.keep) this.received = Buffer.concat([this.received, chunk])
    })
    this.socket.on('error', () => {})
    this.whenClosed = new Promise(resolve => {
      this.socket.on('close', () => {
        this.closed = true
        resolve()
      })
    })
  }

  get text(): string {
    return this.received.toString('latin1')
  }

  send(...parts: (string | Uint8Array)[]): this {
    for (const part of parts) this.socket.write(typeof part === 'string' ? Buffer.from(part, 'latin1') : part)
    return this
  }

  /** Waits until the received text holds what is looked for. */
  async until(needle: string | RegExp, timeoutMs = WAIT_MS): Promise<string> {
    await waitFor(
      () => (typeof needle === 'string' ? this.text.includes(needle) : needle.test(this.text)),
      timeoutMs,
      () => `${needle} in ${JSON.stringify(this.text.slice(0, 400))}`,
    )
    return this.text
  }

  /** Waits until the server has closed the connection; the text received by then. */
  async untilClosed(timeoutMs = WAIT_MS): Promise<string> {
    await waitFor(
      () => this.closed,
      timeoutMs,
      () => `the end of a connection that got ${JSON.stringify(this.text.slice(0, 400))}`,
    )
    return this.text
  }
}

export async function waitFor(
  isTrue: () => boolean,
  timeoutMs = WAIT_MS,
  what: () => string = () => 'a condition',
): Promise<void> {
  const end = performance.now() + timeoutMs
  while (!isTrue()) {
    if (performance.now() > end) throw new Error(`waited ${timeoutMs} ms without success for ${what()}`)
    await pause(5)
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms))
}

/** A request head with a Host, ready to be sent. */
export function head(startLine: string, ...lines: string[]): string {
  return `${[startLine, 'Host: test.example', ...lines].join('\r\n')}\r\n\r\n`
}
