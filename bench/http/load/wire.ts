/** Requests as prepared bytes, and a kept-alive connection that sends them and checks each response, with little work for each. */
import { connect, type Socket } from 'node:net'
import type { LoadRequest } from './requests.ts'

/** A request as it goes over the wire, and the correct response to it. */
export interface Prepared {
  readonly bytes: Buffer
  readonly status: number
  readonly holds: Buffer
  /** Another response that is right as well, for limits that are tried. */
  readonly refusal?: { readonly status: number; readonly holds: Buffer }
}

export function prepare(url: string, { method, path, headers, body, status, holds }: LoadRequest): Prepared {
  const lines = [
    `${method} ${path} HTTP/1.1`,
    `host: ${new URL(url).host}`,
    ...Object.entries(headers ?? {}).map(([name, value]) => `${name}: ${value}`),
    ...(body === undefined ? [] : [`content-length: ${Buffer.byteLength(body)}`]),
  ]
  return {
    bytes: Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body ?? ''}`),
    status: status ?? 200,
    holds: Buffer.from(holds),
  }
}

/** One request for each of its tokens; a single one without them. */
export function prepareAll(url: string, request: LoadRequest): readonly Prepared[] {
  const { tokens } = request
  if (tokens === undefined) return [prepare(url, request)]
  return tokens.map(token =>
    prepare(url, { ...request, headers: { ...request.headers, authorization: `Bearer ${token}` } }),
  )
}

const HEAD_END = Buffer.from('\r\n\r\n')
const LAST_CHUNK = Buffer.from('0\r\n\r\n')
const LENGTH = Buffer.from('content-length:')
const CHUNKED = /\r\ntransfer-encoding: *chunked/i
/**
 * Where all connections read to, one after the other: with a buffer for each response the load would collect garbage many times a second,
 * and what waits for that would be counted as a latency.
 */
const READ_INTO = Buffer.allocUnsafeSlow(256 * 1024)
/** For a response that is shown when it was wrong. */
const SHOWN = 400

/** One request at a time. What goes wrong is an error that ends the run: a fast wrong response is not a figure. */
export class Wire {
  readonly #socket: Socket
  readonly #onFault: (fault: Error) => void
  #awaited: Prepared | undefined
  #done: ((status: number) => void) | undefined
  #early: Buffer | undefined
  #closing = false

  private constructor(url: string, onFault: (fault: Error) => void) {
    const { hostname, port } = new URL(url)
    this.#onFault = onFault
    const socket = connect({
      port: Number(port),
      host: hostname === 'localhost' ? '127.0.0.1' : hostname,
      noDelay: true,
      onread: {
        buffer: READ_INTO,
        callback: bytes => {
          this.#take(READ_INTO.subarray(0, bytes))
          return true
        },
      },
    })
    this.#socket = socket
    socket.on('error', error => this.#fail(`the connection failed: ${error.message}`))
    socket.on('close', () => this.#fail('the server closed the connection'))
  }

  /** @throws Error without a connection */
  static open(url: string, onFault: (fault: Error) => void): Promise<Wire> {
    return new Promise((resolve, reject) => {
      let open = false
      const wire: Wire = new Wire(url, fault => (open ? onFault(fault) : reject(fault)))
      wire.#socket.once('connect', () => {
        open = true
        resolve(wire)
      })
    })
  }

  get idle(): boolean {
    return this.#awaited === undefined
  }

  /** @param done called after the complete, correct response, and only then */
  send(request: Prepared, done: (status: number) => void): void {
    this.#awaited = request
    this.#done = done
    this.#socket.write(request.bytes)
  }

  close(): void {
    this.#closing = true
    this.#socket.destroy()
  }

  /** @param chunk only while it is called: the next read overwrites it */
  #take(chunk: Buffer): void {
    const response = this.#early === undefined ? chunk : Buffer.concat([this.#early, chunk])
    const awaited = this.#awaited
    if (awaited === undefined) return this.#fail(`an unexpected response: ${shown(response)}`)
    const headEnd = response.indexOf(HEAD_END)
    if (headEnd < 0 || !isWhole(response, headEnd)) {
      this.#early = response === chunk ? Buffer.from(chunk) : response
      return
    }
    this.#early = undefined
    const status = statusOf(response)
    const right = status === awaited.refusal?.status ? awaited.refusal : awaited
    if (status !== right.status || !response.includes(right.holds, headEnd))
      return this.#fail(
        `expected ${awaited.status} with ${awaited.holds}: ${shown(awaited.bytes)}, got ${shown(response)}`,
      )
    const done = this.#done!
    this.#awaited = undefined
    done(status)
  }

  #fail(reason: string): void {
    if (this.#closing) return
    this.close()
    this.#onFault(new Error(`${reason}; the run does not count`))
  }
}

function isWhole(response: Buffer, headEnd: number): boolean {
  const length = contentLength(response, headEnd)
  if (length >= 0) return response.length - headEnd - HEAD_END.length >= length
  const head = response.toString('latin1', 0, headEnd)
  return CHUNKED.test(head) ? response.subarray(-LAST_CHUNK.length).equals(LAST_CHUNK) : true
}

/** Without a string, as it is asked of every response. @returns -1 when the head has none */
function contentLength(response: Buffer, headEnd: number): number {
  for (let at = response.indexOf(10) + 1; at > 0 && at < headEnd; at = response.indexOf(10, at) + 1) {
    let same = 0
    while (same < LENGTH.length && (response[at + same]! | 0x20) === (LENGTH[same]! | 0x20)) same++
    if (same < LENGTH.length) continue
    let length = 0
    for (let digit = at + same; digit < headEnd; digit++) {
      const value = response[digit]! - 48
      if (value >= 0 && value <= 9) length = length * 10 + value
      else if (response[digit] !== 32) break
    }
    return length
  }
  return -1
}

const statusOf = (response: Buffer): number =>
  (response[9]! - 48) * 100 + (response[10]! - 48) * 10 + (response[11]! - 48)

/** Without the credentials of the request. */
const shown = (bytes: Buffer): string =>
  JSON.stringify(
    bytes
      .toString('latin1')
      .replace(/^(authorization|x-api-key): .*$/gim, '$1: …')
      .slice(0, SHOWN),
  )
