/** The example backend: the HTTP server of a small shop, whose records are in memory. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { openPlainServer, type PlainServer } from '../../net/server/plain-server.ts'
import type { Log } from '../../telemetry/log.ts'
import { cartHandlers } from './cart.ts'
import { categoryHandlers } from './categories.ts'
import { customerHandlers } from './customers.ts'
import { Idempotency } from './idempotency.ts'
import { findOperation, operationsOf, readShopDocument, type ShopDocument } from './operations.ts'
import { orderHandlers } from './orders.ts'
import { ShopProblem } from './problem.ts'
import { productHandlers } from './products.ts'
import { reportHandlers } from './reports.ts'
import { type Handlers, readShopBody, type ShopResponse } from './request.ts'
import { reviewHandlers } from './reviews.ts'
import { openShop } from './seed.ts'
import { sendProblem, sendShopResponse } from './send.ts'

export interface ShopOptions {
  readonly host: string
  /** 0 takes a free port. */
  readonly port: number
  readonly log: Log
}

export interface Shop extends PlainServer {
  /** Base address, without trailing slash. */
  readonly url: string
}

/** How long an idle connection stays: longer than any pool in front of it keeps one, so that none is cut under a request. */
const KEEP_ALIVE_MS = 75_000
const REQUEST_TIMEOUT_MS = 10_000
const MAX_CONNECTIONS = 1000

type Respond = (message: IncomingMessage, signal: AbortSignal) => Promise<ShopResponse>

/** Starts the shop with its seed. @throws Error when the port is taken or the document cannot be read. */
export async function startShop({ host, port, log }: ShopOptions): Promise<Shop> {
  const document = await readShopDocument()
  let url = ''
  const respond = responder(document, () => url)
  const server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS, keepAliveTimeout: KEEP_ALIVE_MS })
  server.maxConnections = MAX_CONNECTIONS
  server.on('request', (message, response) => void handle(respond, message, response, log))
  const opened = await openPlainServer(server, { host, port, exclusive: true })
  url = `http://${addressable(host)}:${opened.port}`
  return { url, ...opened }
}

/** Clients cannot connect to the wildcard address that a container listens on. */
function addressable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}

async function handle(
  respond: Respond,
  message: IncomingMessage,
  response: ServerResponse,
  log: Log,
): Promise<void> {
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  try {
    await sendShopResponse(response, await respond(message, gone.signal), gone.signal)
  } catch (error) {
    if (gone.signal.aborted) return
    if (!(error instanceof ShopProblem)) log.error({ err: error }, 'the shop could not process a request')
    sendProblem(response, error)
  }
  log.debug({ method: message.method, url: message.url, status: response.statusCode }, 'shop')
}

/** Runs the operation of a request. @throws ShopProblem */
function responder(document: ShopDocument, url: () => string): Respond {
  const state = openShop()
  const idempotency = new Idempotency()
  const own = {
    '/health': { get: { operationId: 'readHealth' } },
    '/openapi.json': { get: { operationId: 'readDocument' } },
  }
  const operations = operationsOf({ ...document, paths: { ...own, ...document.paths } })
  const handlers: Handlers = {
    readHealth: () => ({ status: 200, body: { status: 'ok' } }),
    readDocument: () => ({ status: 200, body: { ...document, servers: [{ url: url() }] } }),
    ...productHandlers(state),
    ...reviewHandlers(state),
    ...categoryHandlers(state),
    ...customerHandlers(state),
    ...cartHandlers(state),
    ...orderHandlers(state),
    ...reportHandlers(state),
  }
  return async (message, signal) => {
    const { method = 'GET', headers } = message
    const [path = '/', search = ''] = (message.url ?? '/').split(/\?(.*)/s)
    const { operation, params } = findOperation(operations, method, path)
    const query = operation.readQuery(new URLSearchParams(search))
    const body = (await readShopBody(message)) ?? {}
    operation.checkBody(body)
    const request = { params, query, body, ifMatch: headers['if-match'], signal }
    const act = () => handlers[operation.id]!(request)
    const key = headers['idempotency-key']
    if (!operation.repeatable || typeof key !== 'string') return act()
    return idempotency.run(key, `${operation.id} ${path}`, body, act)
  }
}
