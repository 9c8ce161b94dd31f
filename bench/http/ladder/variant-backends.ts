/** Backends of the rung `invoke` over other connections: HTTP/2 without TLS, and a Unix socket. They respond as the backend of the load does and measure nothing. */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { createServer as createHttp2Server } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PRODUCT } from '../load/requests.ts'
import type { Variant } from './rung-list.ts'

const HEADERS = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(PRODUCT) }

export interface VariantBackend {
  /** As the base of a tool's requests. */
  readonly url: string
  stop(): Promise<void>
}

/** @param shared the backend of all others */
export async function startVariantBackend(variant: Variant, shared: string): Promise<VariantBackend> {
  if (variant === 'invoke-http2') return serveHttp2()
  if (variant === 'invoke-unix') return serveUnix()
  return { url: shared, stop: async () => {} }
}

async function serveHttp2(): Promise<VariantBackend> {
  const server = createHttp2Server()
  const sessions = new Set<{ destroy(): void }>()
  server.on('session', session => {
    sessions.add(session)
    session.on('close', () => sessions.delete(session))
  })
  server.on('stream', stream => {
    stream.on('error', () => {})
    stream.respond({ ':status': 200, ...HEADERS })
    stream.end(PRODUCT)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      for (const session of sessions) session.destroy()
      server.close()
    },
  }
}

async function serveUnix(): Promise<VariantBackend> {
  const dir = mkdtempSync(join(tmpdir(), 'toolgate-ladder-'))
  const path = join(dir, 'backend.sock')
  const server: Server = createServer((_, response) => {
    response.writeHead(200, HEADERS)
    response.end(PRODUCT)
  })
  server.listen(path)
  await once(server, 'listening')
  return {
    url: `http+unix://${encodeURIComponent(path)}`,
    async stop() {
      server.close()
      server.closeAllConnections()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}
