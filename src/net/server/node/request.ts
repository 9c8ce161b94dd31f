/** A request of the node:http listener: its head, and its body through the turn. */
import type { IncomingMessage } from 'node:http'
import type { TLSSocket } from 'node:tls'
import { mayGrow } from '../../held-bytes.ts'
import type { BodyRefusal, HttpRequest } from '../listener.ts'
import type { NodeTurn } from './turn.ts'

const EMPTY = new Uint8Array(0)
const BEYOND_ASCII = /[\x80-\xff]/

export class NodeRequest implements HttpRequest {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly rawHeaders: readonly string[]
  readonly peerAddress: string
  readonly peerVerified: boolean
  /** Set by the listener once the guard has read the head. */
  contentLength = 0
  #turn: NodeTurn | undefined

  constructor(message: IncomingMessage) {
    this.method = message.method ?? ''
    const url = message.url ?? ''
    const mark = url.indexOf('?')
    this.path = mark < 0 ? url : url.slice(0, mark)
    this.query = mark < 0 ? '' : url.slice(mark + 1)
    this.rawHeaders = message.rawHeaders.map(plainHeader)
    this.peerAddress = (message.socket.remoteAddress ?? '').replace(/^::ffff:(?=\d+\.)/i, '')
    this.peerVerified = isVerified(message.socket as TLSSocket)
  }

  /** Ties the request to its turn, through which the body is read. */
  attach(turn: NodeTurn, contentLength: number): void {
    this.#turn = turn
    this.contentLength = contentLength
  }

  header(name: string): string {
    const { rawHeaders } = this
    let found = ''
    for (let at = 0; at < rawHeaders.length; at += 2) {
      if (rawHeaders[at] === name)
        found = found === '' ? rawHeaders[at + 1]! : `${found}, ${rawHeaders[at + 1]}`
    }
    return found
  }

  readBody(...[maxBytes, done, refused, budget]: Parameters<HttpRequest['readBody']>): void {
    const { contentLength } = this
    if (contentLength === 0) return done(EMPTY)
    if (contentLength > maxBytes) return refused('too_large')
    if (!mayGrow(budget, 0, contentLength)) return refused('over_budget')
    const growing = contentLength < 0 ? budget : undefined
    let pieces: Uint8Array[] | undefined = []
    let bytes = 0
    const refuse = (why: BodyRefusal): void => {
      pieces = undefined
      refused(why)
    }
    this.#turn!.onBody(
      chunk => {
        if (pieces === undefined) return
        const before = bytes
        bytes += chunk.length
        if (bytes > maxBytes) refuse('too_large')
        else if (!mayGrow(growing, before, bytes)) refuse('over_budget')
        else pieces.push(chunk)
      },
      () => {
        if (pieces !== undefined) done(Buffer.concat(pieces, bytes))
      },
    )
  }

  streamBody(sink: { data(chunk: Uint8Array): void; end(): void }): { pause(): void; resume(): void } {
    const turn = this.#turn!
    if (this.contentLength === 0) sink.end()
    else
      turn.onBody(
        chunk => sink.data(chunk),
        () => sink.end(),
      )
    return { pause: () => turn.pauseBody(), resume: () => turn.resumeBody() }
  }
}

/** Node also marks a client without a certificate as authorized, when it resumes a session of TLS 1.3. */
function isVerified(socket: TLSSocket): boolean {
  return socket.authorized === true && socket.getPeerX509Certificate() !== undefined
}

/** Names in lower case; values as UTF-8, where node reads ISO 8859-1, so that both listeners show the same. */
function plainHeader(text: string, at: number): string {
  if (at % 2 === 0) return text.toLowerCase()
  return BEYOND_ASCII.test(text) ? Buffer.from(text, 'latin1').toString('utf8') : text
}
