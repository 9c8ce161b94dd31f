/** A request of the uWS listener: a copy of its head, and its body and peer address through the turn. */
import { SocketAddress } from 'node:net'
import type { HttpRequest } from '../listener.ts'
import { readBody, streamBody } from './body.ts'
import type { NativeRequest } from './native.ts'
import type { UwsTurn } from './turn.ts'

/** Filled by one shared callback, so that no closure is made per request; the parser runs on one thread. */
const collected: string[] = []
let count = 0
const collect = (name: string, value: string): void => {
  collected[count++] = name
  collected[count++] = value
}

export class UwsRequest implements HttpRequest {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly rawHeaders: readonly string[]
  readonly peerVerified = false
  /** Set by the listener once the guard has read the head. */
  contentLength = 0
  #turn: UwsTurn | undefined
  #peerAddress: string | undefined

  /** Copies everything out of the native request. */
  constructor(native: NativeRequest, method: string) {
    this.method = method
    this.path = native.getUrl()
    this.query = native.getQuery() ?? ''
    count = 0
    native.forEach(collect)
    // of the right size, where a list that grows takes twice as much
    this.rawHeaders = collected.slice(0, count)
  }

  /** Ties the request to its turn, through which body and address are read. */
  attach(turn: UwsTurn, contentLength: number): void {
    this.#turn = turn
    this.contentLength = contentLength
  }

  header(name: string): string {
    const { rawHeaders } = this
    const { length } = name
    let found = ''
    for (let at = 0; at < rawHeaders.length; at += 2) {
      // lengths first: comparing strings is a call
      if (rawHeaders[at]!.length === length && rawHeaders[at] === name)
        found = found === '' ? rawHeaders[at + 1]! : `${found}, ${rawHeaders[at + 1]}`
    }
    return found
  }

  /** Asking the socket costs 0.5 µs, so it is read only when needed. */
  get peerAddress(): string {
    this.#peerAddress ??= plainAddress(this.#turn?.peerAddress() ?? '')
    return this.#peerAddress
  }

  readBody(...body: Parameters<HttpRequest['readBody']>): void {
    readBody(this.#turn!, ...body)
  }

  streamBody(sink: { data(chunk: Uint8Array): void; end(): void }): { pause(): void; resume(): void } {
    return streamBody(this.#turn!, sink)
  }
}

const MAPPED = '0000:0000:0000:0000:0000:ffff:'

/** uWS writes IPv6 in full; elsewhere addresses are in the short form of RFC 5952. */
function plainAddress(text: string): string {
  if (!text.includes(':')) return text
  if (text.startsWith(MAPPED)) {
    const digits = text.slice(MAPPED.length).replace(':', '')
    return [0, 2, 4, 6].map(at => Number.parseInt(digits.slice(at, at + 2), 16)).join('.')
  }
  return new SocketAddress({ address: text, family: 'ipv6' }).address
}
