/** The example backend: the HTTP server of a small shop. It keeps everything in memory and knows nothing of the gateway. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Log } from '../../shared/telemetry/log.ts'
import { cartRoutes } from './cart.ts'
import { categoryRoutes } from './categories.ts'
import { customerRoutes } from './customers.ts'
import { readDocument } from './document.ts'
import { Idempotency } from './idempotency.ts'
import { orderRoutes } from './orders.ts'
import { ShopProblem } from './problem.ts'
import { productRoutes } from './products.ts'
import { reportRoutes } from './reports.ts'
import { ShopRequest, type ShopResponse } from './request.ts'
import { reviewRoutes } from './reviews.ts'
import { ShopRouter } from './router.ts'
import { openShop } from './seed.ts'
import { sendProblem, sendShopResponse } from './send.ts'

export interface ShopOptions {
  readonly host: string
  /** 0 takes a free port. */
  readonly port: number
  readonly log: Log
}

export interface Shop {
  /** Base address, without trailing slash. */
  readonly url: string
  readonly port: number
  /** Stops taking requests and cuts the open ones. */
  close(): Promise<void>
}

/** How long an idle connection stays: longer than any pool in front of it keeps one, so that none is cut under a request. */
const KEEP_ALIVE_MS = 75_000
const REQUEST_TIMEOUT_MS = 10_000
const MAX_CONNECTIONS = 1000

/** Starts the shop with its seed. @throws Error when the port is taken or the document cannot be read. */
export async function startShop({ host, port, log }: ShopOptions): Promise<Shop> {
  const state = openShop()
  const idempotency = new Idempotency()
  const document = await readDocument()
  let url = ''
  const router = new ShopRouter([
    { method: 'GET', path: '/health', handle: () => ({ status: 200, body: { status: 'ok' } }) },
    {
      method: 'GET',
      path: '/openapi.json',
      // the actual address of this shop
      handle: () => ({ status: 200, body: { ...document, servers: [{ url }] } }),
    },
    ...productRoutes(state, idempotency),
    ...reviewRoutes(state),
    ...categoryRoutes(state),
    ...customerRoutes(state, idempotency),
    ...cartRoutes(state, idempotency),
    ...orderRoutes(state, idempotency),
    ...reportRoutes(state),
  ])
  const server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS, keepAliveTimeout: KEEP_ALIVE_MS })
  server.maxConnections = MAX_CONNECTIONS
  server.on('request', (message, response) => void handle(router, message, response, log))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port, exclusive: true }, () => {
      server.off('error', reject)
      resolve()
    })
  })
  const { port: taken } = server.address() as AddressInfo
  url = `http://${addressable(host)}:${taken}`
  return {
    url,
    port: taken,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** Clients cannot connect to the wildcard address that a container listens on. */
function addressable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}

async function handle(
  router: ShopRouter,
  message: IncomingMessage,
  response: ServerResponse,
  log: Log,
): Promise<void> {
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  try {
    await sendShopResponse(response, await respond(router, message, gone.signal), gone.signal)
  } catch (error) {
    if (gone.signal.aborted) return
    if (!(error instanceof ShopProblem)) log.error({ err: error }, 'the shop failed')
    sendProblem(response, error)
  }
  log.debug({ method: message.method, url: message.url, status: response.statusCode }, 'shop')
}

async function respond(
  router: ShopRouter,
  message: IncomingMessage,
  signal: AbortSignal,
): Promise<ShopResponse> {
  const target = message.url ?? '/'
  const mark = target.indexOf('?')
  const path = mark < 0 ? target : target.slice(0, mark)
  const match = router.find(message.method ?? 'GET', path)
  if (match.kind === 'none')
    throw new ShopProblem(404, 'no-route', 'Not found.', `There is nothing at ${path.slice(0, 200)}.`)
  if (match.kind === 'method') {
    const headers = { allow: match.allow.join(', ') }
    const detail = `Use ${match.allow.join(' or ')}.`
    throw new ShopProblem(405, 'method', 'The method is not supported here.', detail, { headers })
  }
  const query = new URLSearchParams(mark < 0 ? '' : target.slice(mark + 1))
  const request = new ShopRequest(message, match.params, query, signal)
  await request.readBody()
  return match.route.handle(request)
}
