/** The small servers that a load run compares with, one per process: `tsx server.ts KIND [ARGUMENT]` prints its port. */
import { randomUUID } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import proxy from '@fastify/http-proxy'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import express from 'express'
import fastify from 'fastify'
import { Pool } from 'undici'
import { z } from 'zod'
import type { NativeResponse } from '../../../src/net/server/uws/native.ts'
import { listen, native, productApp } from './backend.ts'
import { listenAlone } from './our-listener.ts'
import { PRODUCT } from './requests.ts'

const KINDS: Readonly<Record<string, (argument: string) => number | Promise<number>>> = {
  echo,
  long,
  listener: listenerAlone,
  streams,
  'uws-undici': uwsUndici,
  fastify: fastifyProxy,
  'mcp-sdk': mcpSdk,
}

/** The reference of calls without backend; those that are given one port share its connections. */
function echo(port: string): number {
  return listen(productApp(), Number(port || 0), port !== '')
}

/** As `echo`, with a response of so many bytes that were at hand. */
function long(bytes: string): number {
  const reply = Buffer.from('{"tools":"shop_getProduct"}'.padEnd(Number(bytes)))
  return listen(productApp(reply))
}

/** Our listener without the gateway behind it: what parsing, bounds and framing cost. */
async function listenerAlone(): Promise<number> {
  const product = Buffer.from(PRODUCT)
  return listenAlone((request, response) =>
    request.readBody(
      1 << 20,
      () => response.send(200, ['content-type', 'application/json'], product),
      () => response.send(413, []),
    ),
  )
}

/** Event streams without anything around them: a POST writes one event to each, one after the other. */
function streams(): number {
  const app = native().App()
  const open = new Set<NativeResponse>()
  app.get('/*', response => {
    response.onAborted(() => void open.delete(response))
    response.writeStatus('200 OK\r\ncontent-type: text/event-stream').write(': open\n\n')
    open.add(response)
  })
  app.post('/*', response => {
    response.onAborted(() => {})
    response.onData((_chunk, last) => {
      if (!last) return
      for (const stream of open) stream.cork(() => void stream.write(LIST_CHANGED))
      response.end(String(open.size))
    })
  })
  return listen(app)
}

const LIST_CHANGED = 'event: message\ndata: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n'

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
      const reply = await pool.request({
        method: 'POST',
        path,
        body,
        headers: { 'content-type': 'application/json' },
      })
      const text = await reply.body.text()
      if (!aborted)
        response.cork(
          () =>
            void response.writeStatus(`${reply.statusCode} OK\r\ncontent-type: application/json`).end(text),
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

/** One tool that calls the backend, stateless, responses as JSON: the smallest form the official package has. */
async function mcpSdk(upstream: string): Promise<number> {
  const app = express()
  app.use(express.json())
  app.post('/mcp', async (request, response) => {
    const server = new McpServer({ name: 'peer', version: randomUUID() })
    server.registerTool(
      'shop_getProduct',
      { inputSchema: { productId: z.string() } },
      async ({ productId }) => {
        const reply = await fetch(`${upstream}/products/${encodeURIComponent(productId)}`)
        return { content: [{ type: 'text', text: await reply.text() }] }
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

const [kind = '', argument = ''] = process.argv.slice(2)
const start = KINDS[kind]
if (start === undefined) throw new Error(`no server is called "${kind}": ${Object.keys(KINDS).join(', ')}`)
console.log(String(await start(argument)))
