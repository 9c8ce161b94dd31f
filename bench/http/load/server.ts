/** The small servers that a load run compares with, one per process: `tsx server.ts KIND [UPSTREAM]` prints its port. It measures nothing. */
import { randomUUID } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import proxy from '@fastify/http-proxy'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import express from 'express'
import fastify from 'fastify'
import { Pool } from 'undici'
import { z } from 'zod'
import { loadNative, type NativeApp, type NativeModule } from '../../../src/server/uws/native.ts'
import { PRODUCT } from './requests.ts'

const KINDS: Readonly<Record<string, (upstream: string) => number | Promise<number>>> = {
  backend,
  echo,
  'uws-undici': uwsUndici,
  fastify: fastifyProxy,
  'mcp-sdk': mcpSdk,
}

function native(): NativeModule {
  const loaded = loadNative()
  if ('native' in loaded) return loaded.native
  throw new Error(loaded.reason)
}

function listen(app: NativeApp): number {
  let socket: unknown
  app.listen('127.0.0.1', 0, 1, taken => {
    socket = taken
  })
  return native().us_socket_local_port(socket)
}

/** Answers whatever it is asked with the same product, after it has read it. */
function backend(): number {
  const app = native().App()
  for (const method of ['get', 'post'] as const)
    app[method]('/*', response => {
      const answer = (): void =>
        void response.writeStatus('200 OK\r\ncontent-type: application/json').end(PRODUCT)
      if (method === 'get') return answer()
      response.onAborted(() => {})
      response.onData((_chunk, last) => {
        if (last) answer()
      })
    })
  return listen(app)
}

/** The reference of calls without backend: reads the body, discards it, answers. */
function echo(): number {
  return backend()
}

function uwsUndici(upstream: string): number {
  const app = native().App()
  const pool = new Pool(upstream, { connections: 64 })
  app.post('/*', (response, request) => {
    const path = request.getUrl()
    let aborted = false
    response.onAborted(() => {
      aborted = true
    })
    const chunks: Buffer[] = []
    response.onData(async (chunk, last) => {
      chunks.push(Buffer.from(Buffer.from(chunk)))
      if (!last) return
      const body = Buffer.concat(chunks)
      const answer = await pool.request({
        method: 'POST',
        path,
        body,
        headers: { 'content-type': 'application/json' },
      })
      const text = await answer.body.text()
      if (!aborted)
        response.cork(
          () =>
            void response.writeStatus(`${answer.statusCode} OK\r\ncontent-type: application/json`).end(text),
        )
    })
  })
  return listen(app)
}

async function fastifyProxy(upstream: string): Promise<number> {
  const app = fastify()
  await app.register(proxy, { upstream })
  await app.listen({ host: '127.0.0.1', port: 0 })
  return (app.server.address() as AddressInfo).port
}

/** One tool that calls the backend, stateless, answers as JSON: the leanest form the official package has. */
async function mcpSdk(upstream: string): Promise<number> {
  const app = express()
  app.use(express.json())
  app.post('/mcp', async (request, response) => {
    const server = new McpServer({ name: 'peer', version: randomUUID() })
    server.registerTool(
      'shop_getProduct',
      { inputSchema: { productId: z.string() } },
      async ({ productId }) => {
        const answer = await fetch(`${upstream}/products/${encodeURIComponent(productId)}`)
        return { content: [{ type: 'text', text: await answer.text() }] }
      },
    )
    const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true } as never)
    await server.connect(transport as never)
    await transport.handleRequest(request, response, request.body)
  })
  return new Promise(resolve => {
    const listening = app.listen(0, '127.0.0.1', () => resolve((listening.address() as AddressInfo).port))
  })
}

const [kind = '', upstream = ''] = process.argv.slice(2)
const start = KINDS[kind]
if (start === undefined) throw new Error(`no server is called "${kind}": ${Object.keys(KINDS).join(', ')}`)
console.log(String(await start(upstream)))
