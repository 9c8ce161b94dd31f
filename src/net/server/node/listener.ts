/** The strict listener, on node:http and node:https: opens the port, refuses invalid requests and renews the certificate. `guard.ts` checks heads. */
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http'
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { Deadlines } from '../../../base/async/deadlines.ts'
import { renewCertificate, type ServerTls, serverTlsOptions } from '../../tls/server-tls.ts'
import { checkHead, statusOfRefusal } from '../guard.ts'
import { listenerClosed, portTaken, throwUncaught } from '../listen-failure.ts'
import type { Listener, ListenerOptions, ListenerRefusal } from '../listener.ts'
import { NodeRequest } from './request.ts'
import { NodeResponse } from './response.ts'
import { type NodeContext, NodeTurn } from './turn.ts'

/** Idle connections and unfinished heads end after this time, as with uWS. */
const IDLE_MS = 10_000
/** From the connection to the end of the TLS handshake. */
const HANDSHAKE_MS = 10_000
/** What names, values and URL cannot fill: method, version, separators. */
const HEAD_SLACK_BYTES = 1024

/** What node's parser says, as a refusal; anything else is `malformed`. */
const PARSER_REFUSALS: Readonly<Record<string, ListenerRefusal>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_INVALID_CONTENT_LENGTH: 'content_length',
  HPE_UNEXPECTED_CONTENT_LENGTH: 'content_length',
  HPE_INVALID_TRANSFER_ENCODING: 'transfer_encoding',
  HPE_INVALID_METHOD: 'method',
  HPE_INVALID_URL: 'url',
  ERR_HTTP_REQUEST_TIMEOUT: 'slow_sender',
}

export class NodeListener implements Listener {
  readonly kind = 'node'
  readonly #options: ListenerOptions
  readonly #context: NodeContext
  readonly #server: Server | TlsServer
  #endRenewal = (): void => {}
  #accepts = true

  constructor(options: ListenerOptions) {
    this.#options = options
    const { limits } = options
    this.#context = {
      limits,
      onRefused: options.onRefused,
      onHandlerError: options.onHandlerError ?? throwUncaught,
      bodies: new Deadlines<NodeTurn>(limits.bodyTimeoutMs, turn => turn.bodyIsLate()),
      closing: new WeakSet(),
      draining: false,
      isTls: options.tls !== undefined,
    }
    const settings = {
      insecureHTTPParser: false,
      requireHostHeader: true,
      keepAliveTimeout: IDLE_MS,
      headersTimeout: IDLE_MS,
      // The body's own deadline is ours.
      requestTimeout: 0,
      connectionsCheckingInterval: 1_000,
      maxHeaderSize: limits.maxHeaderBytes + limits.maxUrlBytes + limits.maxHeaders * 4 + HEAD_SLACK_BYTES,
    }
    const handle = (message: IncomingMessage, response: ServerResponse): void =>
      this.#handle(message, response)
    this.#server =
      options.tls === undefined
        ? createServer(settings, handle)
        : this.#createTlsServer(settings, options.tls, handle)
    // Node drops what exceeds its count without a word; the guard counts instead.
    this.#server.maxHeadersCount = 0
    this.#server.on('clientError', (error: NodeJS.ErrnoException, socket) =>
      this.#refuse(error.code ?? '', socket as Socket),
    )
  }

  #createTlsServer(
    settings: ServerOptions,
    tls: ServerTls,
    handle: (message: IncomingMessage, response: ServerResponse) => void,
  ): TlsServer {
    const asksForCertificate = tls.clientCa !== undefined
    const server = createTlsServer(
      {
        ...settings,
        ...serverTlsOptions(tls),
        ALPNProtocols: ['http/1.1'],
        handshakeTimeout: HANDSHAKE_MS,
        // Who needs a certificate is decided for each request: pages and API callers have none.
        requestCert: asksForCertificate,
        rejectUnauthorized: false,
      },
      handle,
    )
    this.#endRenewal = renewCertificate(server, tls, fault => this.#options.onCertificate?.(fault))
    return server
  }

  async listen(): Promise<{ readonly port: number }> {
    if (!this.#accepts) throw listenerClosed()
    const { host, port, sharePort } = this.#options
    const server = this.#server
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error: NodeJS.ErrnoException) =>
        reject(portTaken(this.#options, reasonOf(error))),
      )
      // `reusePort` is known to Node 22.12 and later; where it is ignored a second listener fails on the taken port.
      const options = { host, port, exclusive: true, reusePort: sharePort }
      server.listen(options, resolve)
    })
    // A connection that cannot be accepted (too many open files) ends alone.
    server.on('error', () => {})
    return { port: (server.address() as AddressInfo).port }
  }

  closeAfterResponses(): void {
    this.#context.draining = true
  }

  stopAccepting(): void {
    this.#accepts = false
    this.closeAfterResponses()
    this.#server.close()
  }

  async close(): Promise<void> {
    this.stopAccepting()
    this.#context.bodies.stop()
    this.#endRenewal()
    this.#server.closeAllConnections()
  }

  #handle(message: IncomingMessage, response: ServerResponse): void {
    const { limits, allowChunkedRequests, handler } = this.#options
    // Node's parser goes on with what was pipelined behind a refused request.
    if (message.socket.destroyed || this.#context.closing.has(message.socket)) return
    const request = new NodeRequest(message)
    // It also accepts HTTP/2.0 as a version it supports.
    const verdict =
      message.httpVersionMajor === 1 ? checkHead(request, limits, allowChunkedRequests) : 'malformed'
    if (typeof verdict === 'string') {
      this.#context.onRefused(verdict)
      const status = statusOfRefusal(verdict)
      if (status === undefined) message.socket.destroy()
      else
        new NodeTurn(message, response, this.#context, false, 0).endAndClose(
          status,
          ['content-length', '0'],
          '',
        )
      return
    }
    const turn = new NodeTurn(message, response, this.#context, request.method === 'HEAD', verdict)
    request.attach(turn, verdict)
    turn.attempt(() => handler(request, new NodeResponse(turn)))
  }

  /** Refusals of the parser: one line where no response has begun, then the connection is closed. */
  #refuse(code: string, socket: Socket): void {
    // A reset or a silent connection is not an error worth counting.
    if (
      code === 'ECONNRESET' ||
      code === 'EPIPE' ||
      (code === 'ERR_HTTP_REQUEST_TIMEOUT' && socket.bytesRead === 0)
    ) {
      socket.destroy()
      return
    }
    // https reports a failed handshake here too
    if (/^ERR_(SSL|TLS)_/.test(code)) {
      this.#options.onRefused('tls')
      socket.destroy()
      return
    }
    const refusal = PARSER_REFUSALS[code] ?? 'malformed'
    this.#context.onRefused(refusal)
    const status = refusal === 'slow_sender' ? 408 : (statusOfRefusal(refusal) ?? 400)
    // `bytesWritten` includes earlier responses; node marks the socket whose response has begun.
    const { _httpMessage: current } = socket as Socket & { _httpMessage?: ServerResponse }
    if (socket.writable && !current?.headersSent) {
      socket.write(`HTTP/1.1 ${status} ${REASONS[status]}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`)
    }
    socket.destroySoon()
  }
}

const REASONS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  414: 'URI Too Long',
  431: 'Request Header Fields Too Large',
}

function reasonOf(error: NodeJS.ErrnoException): string {
  return error.code === 'EADDRINUSE' ? 'the port is taken' : `${error.code ?? error.message}`
}
