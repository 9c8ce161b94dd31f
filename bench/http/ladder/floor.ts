/**
 * The floor of a call: the least that a program on this runtime does for the same round trip. It has the same native listener and a
 * pool of raw sockets to the backend, one request in flight on each; it checks, parses and bounds nothing.
 */
import { connect, type Socket } from 'node:net'
import type { NativeResponse } from '../../../src/net/server/uws/native.ts'
import { listen, native } from '../load/backend.ts'

const BODY = Buffer.from('\r\n\r\n')
const BEFORE = '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":'
const AFTER = '}],"isError":false}}'

const READ_BYTES = 16 * 1024

/** A connection to the backend that carries one request at a time. */
export interface SocketOwner {
  /** The first `length` bytes are new, and valid only during the call. */
  read(bytes: Buffer, length: number): void
}

/** @param idle the connections without a request; the owner is taken out of it when the socket is closed */
export function openSocket<T extends SocketOwner>(owner: T, backend: URL, idle: T[]): Socket {
  const socket = connect({
    port: Number(backend.port),
    host: backend.hostname,
    onread: {
      buffer: Buffer.allocUnsafe(READ_BYTES),
      callback: (length, bytes) => {
        owner.read(bytes as Buffer, length)
        return true
      },
    },
  })
  socket.setNoDelay(true)
  // the backend closes what idles between two rounds
  socket.on('error', () => {})
  socket.on('close', () => {
    const at = idle.indexOf(owner)
    if (at >= 0) idle.splice(at, 1)
  })
  return socket
}

/** Sends one fixed request and passes the body of the response to the callback. */
export type RoundTrip = (done: (body: string) => void) => void

/** @param upstream `http://host:port` @param path of every request */
export function rawPool(upstream: string, path: string): RoundTrip {
  const { host } = new URL(upstream)
  const request = Buffer.from(`GET ${path} HTTP/1.1\r\nhost: ${host}\r\n\r\n`)
  const idle: Connection[] = []

  class Connection implements SocketOwner {
    readonly #socket: Socket
    #done: ((body: string) => void) | undefined

    constructor() {
      this.#socket = openSocket(this, new URL(upstream), idle)
    }

    send(done: (body: string) => void): void {
      this.#done = done
      this.#socket.write(request)
    }

    /** The backend of the bench sends its small responses in one piece. */
    read(bytes: Buffer, length: number): void {
      const done = this.#done!
      const body = bytes.toString('latin1', bytes.indexOf(BODY) + BODY.length, length)
      idle.push(this)
      done(body)
    }
  }
  return done => (idle.pop() ?? new Connection()).send(done)
}

/** The result of a call as JSON-RPC frames it. */
export function framed(body: string): string {
  return `${BEFORE}${JSON.stringify(body)}${AFTER}`
}

/** @returns the port */
export function startFloor(upstream: string, path: string): number {
  const trip = rawPool(upstream, path)
  const app = native().App()
  app.post('/*', response => {
    let open: NativeResponse | undefined = response
    response.onAborted(() => {
      open = undefined
    })
    response.onData((_chunk, last) => {
      if (!last) return
      trip(body => {
        open?.cork(() => void open!.writeStatus('200 OK\r\ncontent-type: application/json').end(framed(body)))
      })
    })
  })
  return listen(app)
}
