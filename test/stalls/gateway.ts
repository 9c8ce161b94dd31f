/** A built gateway with two serving threads, a hostile backend and a probe in each thread. */
import { type ChildProcess, spawn } from 'node:child_process'
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { FREE_PORTS } from '../fixtures/free-ports.ts'
import type { InlineToolSet } from './documents.ts'

const ROOT = join(import.meta.dirname, '../..')
const READY_MS = 300_000
const INSTALL_MS = 300_000
/** For a document within its ToolSet, whose file may have 6 MB. */
const MAX_INLINE_CHARS = 4_000_000
/** A probe runs each millisecond; on a busy machine its line may come later. */
const SETTLE_MS = 20

export interface Reply {
  readonly body: string | Uint8Array
  readonly contentType: string
  /** Sent chunked, with so many bytes in a chunk. */
  readonly chunkBytes?: number
}

interface Addresses {
  readonly gateway_url: string
  readonly auth_url: string
}

export class StallGateway {
  /** What the backend responds with. */
  reply: Reply = { body: '{"ok":true}', contentType: 'application/json' }
  readonly #dir: string
  readonly #log: number
  readonly #child: ChildProcess
  readonly #backend: Server
  readonly #addresses: Addresses
  #token = ''
  #documents = 0
  #readTo = 0

  private constructor(dir: string, child: ChildProcess, addresses: Addresses) {
    this.#dir = dir
    this.#child = child
    this.#addresses = addresses
    this.#log = openSync(join(dir, 'stalls.log'), 'r')
    this.#backend = createServer((request, response) => {
      request.resume().on('end', () => {
        const { body, contentType, chunkBytes } = this.reply
        if (chunkBytes === undefined) response.setHeader('content-type', contentType).end(body)
        else response.socket!.end(chunkedResponse(contentType, body, chunkBytes))
      })
    })
  }

  /** Needs a build. */
  static async start(workers: number): Promise<StallGateway> {
    const dir = mkdtempSync(join(tmpdir(), 'toolgate-stalls-'))
    const log = join(dir, 'stalls.log')
    closeSync(openSync(log, 'w'))
    const toolSets = join(dir, 'sets')
    mkdirSync(toolSets)
    const env = {
      ...FREE_PORTS,
      DATA_DIR: join(dir, 'data'),
      TOOLSETS: toolSets,
      LOG_LEVEL: 'error',
      WORKERS: String(workers),
    }
    const probe = pathToFileURL(join(import.meta.dirname, 'probe.mjs')).href
    const child = spawn(process.execPath, ['--import', probe, join(ROOT, 'dist/cli/index.js'), 'serve'], {
      env: { ...process.env, ...env, STALL_LOG: log },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const addresses = await Promise.race([readyLine(child), sleep(READY_MS, undefined, { ref: false })])
    if (addresses === undefined) {
      child.kill('SIGKILL')
      throw new Error(`the gateway was not ready within ${READY_MS / 1_000} s`)
    }
    const gateway = new StallGateway(dir, child, addresses as Addresses)
    await new Promise<void>(resolve => gateway.#backend.listen(0, '127.0.0.1', resolve))
    return gateway
  }

  get backendUrl(): string {
    return `http://127.0.0.1:${(this.#backend.address() as AddressInfo).port}`
  }

  get exited(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }

  /** Serves the document in place of the last one. @returns the longest turn of a serving thread meanwhile, in CPU milliseconds */
  async install(toolSet: InlineToolSet): Promise<number> {
    const version = await this.#version()
    await this.longestTurn()
    this.#write(toolSet)
    const until = Date.now() + INSTALL_MS
    while ((await this.#version()) === version) {
      if (Date.now() > until) throw new Error(`the tools were not served within ${INSTALL_MS / 1_000} s`)
      await sleep(50)
    }
    await sleep(300)
    return this.longestTurn()
  }

  /** A long document is a separate file, as the directory source requires. */
  #write(toolSet: InlineToolSet): void {
    const { inline } = toolSet.spec.openAPISpec
    let written: object = toolSet
    if (inline.length > MAX_INLINE_CHARS) {
      const key = `${++this.#documents}.json`
      const folder = join(this.#dir, 'sets', 'configmaps', 'stalls')
      mkdirSync(folder, { recursive: true })
      writeFileSync(join(folder, key), inline)
      const openAPISpec = { configMapRef: { name: 'stalls', key } }
      written = { ...toolSet, spec: { ...toolSet.spec, openAPISpec } }
    }
    // a file is complete when it appears
    writeFileSync(join(this.#dir, 'next.json'), JSON.stringify(written))
    renameSync(join(this.#dir, 'next.json'), join(this.#dir, 'sets', 'stalls.json'))
  }

  async login(): Promise<void> {
    const body = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: 'demo-admin',
      client_secret: 'demo-admin-secret',
    })
    const issued = await fetch(`${this.#addresses.auth_url}/protocol/openid-connect/token`, {
      method: 'POST',
      body,
    })
    this.#token = ((await issued.json()) as { access_token: string }).access_token
  }

  /** @returns status, beginning of the body and id of a session; a status of 0 when the request failed */
  async post(
    path: string,
    body: string | Uint8Array<ArrayBuffer>,
    headers: Record<string, string> = {},
  ): Promise<{ status: number; text: string; session: string }> {
    try {
      const response = await fetch(`${this.#addresses.gateway_url}${path}`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${this.#token}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...headers,
        },
        body,
      })
      const text = Buffer.from(await response.arrayBuffer()).toString('latin1', 0, 500)
      return { status: response.status, text, session: response.headers.get('mcp-session-id') ?? '' }
    } catch {
      return { status: 0, text: '', session: '' }
    }
  }

  /** Opens a session of the legacy protocol, whose streams can be resumed. @returns its id */
  async openSession(protocolVersion: string): Promise<string> {
    const params = { protocolVersion, capabilities: {}, clientInfo: { name: 'stalls', version: '1' } }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params })
    return (await this.post('/mcp', body)).session
  }

  /** For a serving thread since the last time it was asked, in CPU milliseconds; it reads 64 KiB of the log at most. */
  async longestTurn(): Promise<number> {
    await sleep(SETTLE_MS)
    const bytes = Buffer.alloc(64 * 1024)
    const length = readSync(this.#log, bytes, 0, bytes.length, this.#readTo)
    this.#readTo += length
    const turns = bytes
      .toString('latin1', 0, length)
      .split('\n')
      .filter(line => line !== '')
      .map(line => Number(line.split(' ')[1]))
    return Math.max(0, ...turns)
  }

  async stop(): Promise<void> {
    if (!this.exited) {
      const ended = new Promise(resolve => this.#child.once('exit', resolve))
      this.#child.kill('SIGTERM')
      await Promise.race([ended, sleep(20_000, undefined, { ref: false })])
      this.#child.kill('SIGKILL')
    }
    this.#backend.closeAllConnections()
    this.#backend.close()
    closeSync(this.#log)
    rmSync(this.#dir, { recursive: true, force: true })
  }

  async #version(): Promise<string> {
    const response = await fetch(`${this.#addresses.gateway_url}/mcp/health`)
    return ((await response.json()) as { snapshot?: string }).snapshot ?? ''
  }
}

/** Written at once: Node would send a packet for each chunk. */
function chunkedResponse(contentType: string, body: string | Uint8Array, chunkBytes: number): Uint8Array {
  const bytes = Buffer.from(body)
  const pieces = [
    Buffer.from(`HTTP/1.1 200 OK\r\ncontent-type: ${contentType}\r\ntransfer-encoding: chunked\r\n\r\n`),
  ]
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    const piece = bytes.subarray(at, at + chunkBytes)
    pieces.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n'))
  }
  return Buffer.concat([...pieces, Buffer.from('0\r\n\r\n')])
}

async function readyLine(child: ChildProcess): Promise<unknown> {
  for await (const line of createInterface({ input: child.stdout! }))
    if (line.startsWith('{"ready":true')) return JSON.parse(line) as unknown
  throw new Error(`the gateway ended with ${child.exitCode}`)
}
