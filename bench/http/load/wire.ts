/** A kept-alive connection that sends prepared bytes and checks each answer: as little work per request as Node's sockets allow. It keeps no time. */
import { connect, type Socket } from 'node:net'
import type { LoadRequest } from './requests.ts'

/** A request as it goes over the wire, and the right answer to it. */
export interface Prepared {
  readonly bytes: Buffer
  readonly status: number
  readonly holds: Buffer
  /** Another answer that is right as well, for limits that are tried. */
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

const HEAD_END = Buffer.from('\r\n\r\n')
const LAST_CHUNK = Buffer.from('0\r\n\r\n')
const LENGTH = /\r\ncontent-length: *(\d+)/i
const CHUNKED = /\r\ntransfer-encoding: *chunked/i
/** Of an answer that is shown when it was wrong. */
const SHOWN = 400

/** One request at a time. What goes wrong is an error that ends the run: a fast wrong answer is no figure. */
export class Wire {
  readonly #socket: Socket
  readonly #onFault: (fault: Error) => void
  #awaited: Prepared | undefined
  #done: ((status: number) => void) | undefined
  #early: Buffer | undefined
  #closing = false

  constructor(socket: Socket, onFault: (fault: Error) => void) {
    this.#socket = socket
    this.#onFault = onFault
    socket.on('data', chunk => this.#take(chunk))
    socket.on('error', error => this.#fail(`the connection failed: ${error.message}`))
    socket.on('close', () => this.#fail('the server closed the connection'))
  }

  static open(url: string, onFault: (fault: Error) => void): Promise<Wire> {
    const { hostname, port } = new URL(url)
    return new Promise((resolve, reject) => {
      const socket = connect({ port: Number(port), host: hostname === 'localhost' ? '127.0.0.1' : hostname })
      socket.setNoDelay(true)
      socket.once('error', reject)
      socket.once('connect', () => {
        socket.off('error', reject)
        resolve(new Wire(socket, onFault))
      })
    })
  }

  get idle(): boolean {
    return this.#awaited === undefined
  }

  /** @param done called behind the whole right answer, and only then */
  send(request: Prepared, done: (status: number) => void): void {
    this.#awaited = request
    this.#done = done
    this.#socket.write(request.bytes)
  }

  close(): void {
    this.#closing = true
    this.#socket.destroy()
  }

  #take(chunk: Buffer): void {
    const answer = this.#early === undefined ? chunk : Buffer.concat([this.#early, chunk])
    const awaited = this.#awaited
    if (awaited === undefined) return this.#fail(`an answer nobody asked for: ${shown(answer)}`)
    const headEnd = answer.indexOf(HEAD_END)
    if (headEnd < 0 || !isWhole(answer, headEnd)) {
      this.#early = answer
      return
    }
    this.#early = undefined
    const status = statusOf(answer)
    const right = status === awaited.refusal?.status ? awaited.refusal : awaited
    if (status !== right.status || !answer.includes(right.holds, headEnd))
      return this.#fail(
        `expected ${awaited.status} with ${awaited.holds}: ${shown(awaited.bytes)} was answered ${shown(answer)}`,
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

function isWhole(answer: Buffer, headEnd: number): boolean {
  const head = answer.toString('latin1', 0, headEnd)
  const length = LENGTH.exec(head)
  const bodyAt = headEnd + HEAD_END.length
  if (length !== null) return answer.length - bodyAt >= Number(length[1])
  return CHUNKED.test(head) ? answer.subarray(-LAST_CHUNK.length).equals(LAST_CHUNK) : true
}

const statusOf = (answer: Buffer): number =>
  (answer[9]! - 48) * 100 + (answer[10]! - 48) * 10 + (answer[11]! - 48)

/** Without the credentials of the request. */
const shown = (bytes: Buffer): string =>
  JSON.stringify(
    bytes
      .toString('latin1')
      .replace(/^(authorization|x-api-key): .*$/gim, '$1: …')
      .slice(0, SHOWN),
  )
