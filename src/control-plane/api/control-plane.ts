/** Assembles the control plane: endpoints, pages, snapshot stream, permissions and background work. */
import { Hono } from 'hono'
import type { ControlPlaneTransport } from '../../link/transport.ts'
import { NOT_STORED } from '../../net/server/pages.ts'
import type { WebPeer } from '../../net/server/web.ts'
import { Maintenance } from '../maintenance.ts'
import { Fleet } from '../publisher/fleet.ts'
import { inProcessTransport } from '../publisher/in-process-transport.ts'
import { Publisher } from '../publisher/publisher.ts'
import { withDeadline } from '../store/with-deadline.ts'
import { ENDPOINTS } from './endpoints.ts'
import { authenticateRequest, type CallOrigin, locate } from './http/access.ts'
import { logRequests } from './http/access-log.ts'
import { corsOf } from './http/cors.ts'
import { requireGatewayCertificate } from './http/gateway-certificate.ts'
import { commonHeaders } from './http/headers.ts'
import { BASE, type MountParts, mountEndpoint, routePath } from './http/mount.ts'
import { mountPages, mountRoot } from './http/pages.ts'
import { permissionsOf } from './http/permissions.ts'
import { notFound, Problem, problemOf } from './http/problem.ts'
import { mountStream } from './http/snapshot-stream.ts'
import { mountTestClock } from './http/test-clock.ts'
import { TierLimit } from './http/tier-limit.ts'
import { VisitorLimit } from './http/visitors.ts'
import type { ControlPlaneOptions } from './options.ts'
import { Readiness } from './readiness.ts'
import { servedDocument } from './served-document.ts'

export type { ControlPlaneOptions } from './options.ts'

export interface ControlPlane {
  fetch(request: Request, peer?: WebPeer): Promise<Response>
  /** For a page of this process, whose users share its OAuth client: the application of the caller is the user. */
  fetchForUser(request: Request): Promise<Response>
  /** What the policy allows the user of a page, as JSON; an error has the form of every other. */
  permissions(request: Request): Promise<Response>
  /** Resolves when everything committed so far is published. */
  refresh(): Promise<void>
  /** Runs one round of maintenance now: expires, publishes, activates and removes. */
  settle(): Promise<void>
  readonly publisher: Publisher
  /** For a gateway of this process. */
  readonly transport: ControlPlaneTransport
  /** Ends streams and background work; the store stays open. */
  close(): Promise<void>
}

const DEFAULT_SWEEP_MS = 2_000
const FOR_USER: CallOrigin = { forUser: true }
/** For an apply of thousands of resources. */
const BULK_DEADLINE_MS = 60_000

/** @param readiness given by a process that serves it while the database is opened */
export function createControlPlane(options: ControlPlaneOptions, readiness = new Readiness()): ControlPlane {
  const { store, verifier, now, onFault } = options
  const publisher = new Publisher(options)
  readiness.handleOpen(
    store,
    () => publisher.isPublished,
    () => verifier.ready,
  )
  const requestStore = withDeadline(store, onFault)
  const fleet = new Fleet({ store, requestStore, publisher, onAcknowledged: () => maintenance.nudge() })
  const maintenance = new Maintenance({
    store,
    publisher,
    fleet,
    now,
    intervalMs: options.sweepIntervalMs ?? DEFAULT_SWEEP_MS,
    auditRetentionMs: options.auditRetentionMs ?? 0,
    onFault,
  })
  const tierLimit = new TierLimit(requestStore, now)
  const { webhookFault = () => undefined } = options
  const { gatewayUrl, specFault, workshop, mayExchangeAt = () => 'refused' } = options
  const { hostsOfSecret = async () => undefined } = options
  const services = {
    gatewayUrl,
    publisher,
    fleet,
    webhookFault,
    specFault,
    workshop,
    mayExchangeAt,
    hostsOfSecret,
  }
  const bulkStore = withDeadline(store, onFault, BULK_DEADLINE_MS)
  const visitorLimit = new VisitorLimit(options.visitors, now)
  const stored = { ...options, store: requestStore }
  const parts: MountParts = { options: stored, services, tierLimit, visitorLimit, bulkStore }
  const closing = new AbortController()

  const app = new Hono()
  app.use(commonHeaders)
  if (options.requestLog !== undefined) app.use(logRequests(options.requestLog))
  if (options.cors !== undefined) app.use(corsOf(options.cors))
  readiness.mount(app)
  mountRoot(app, options)
  const document = servedDocument(options)
  for (const base of ['', BASE]) {
    app.get(`${base}/openapi.json`, context =>
      context.body(document(), 200, { 'content-type': 'application/json' }),
    )
    mountPages(app, base)
  }
  // below the pages, which a browser may keep; a response for visitors replaces it
  app.use(`${BASE}/*`, async (context, next) => {
    context.header(...NOT_STORED)
    await next()
  })
  if (options.advanceClock !== undefined)
    mountTestClock(app, options.advanceClock, now, () => maintenance.run())
  if (options.verifiesGateways === true) requireGatewayCertificate(app, ENDPOINTS)
  mountStream(app, parts, closing.signal)
  for (const endpoint of ENDPOINTS) mountEndpoint(app, endpoint, parts)

  // A route instead of `app.notFound`, whose errors bypass the middleware, so that the response would lack `Vary`.
  app.all('*', async context => {
    // Without a token, the response does not reveal which addresses exist.
    if (context.req.path.startsWith(`${BASE}/`))
      await authenticateRequest(verifier, context.req.raw, context.env as CallOrigin, now())
    const allowed = methodsAt(context.req.path)
    if (allowed.length === 0) throw notFound('address')
    throw new Problem(
      'method_not_allowed',
      'This address does not support the method. See the Allow header.',
      [],
      [['allow', allowed.join(', ')]],
    )
  })
  app.onError((error, context) => {
    const problem = problemOf(error)
    if (problem.status === 500) onFault(`${context.req.method} ${context.req.routePath} failed`, error)
    for (const [name, value] of problem.headers) context.header(name, value)
    return context.json(problem.body(), problem.status as 400)
  })

  const unrecorded = options.unrecordedPolicy ?? options.policy
  async function permissions(request: Request): Promise<Response> {
    try {
      const principal = await authenticateRequest(verifier, request, FOR_USER, now())
      const tenant = request.headers.get('x-tenant-id') ?? ''
      const standing = await locate(requestStore, principal, undefined, tenant)
      return Response.json(await permissionsOf(ENDPOINTS, unrecorded(), standing, now()))
    } catch (error) {
      const problem = problemOf(error)
      if (problem.status === 500)
        onFault('the permissions of a signed-in user could not be determined', error)
      return Response.json(problem.body(), { status: problem.status })
    }
  }

  const stopListening = store.onSignal(signal => {
    if (signal.kind === 'changed' || signal.kind === 'reconnected') void publisher.refresh()
  })
  void publisher.refresh()
  maintenance.start()

  return {
    fetch: async (request, peer) => app.fetch(request, { peer } satisfies CallOrigin),
    fetchForUser: async request => app.fetch(request, FOR_USER),
    permissions,
    refresh: () => publisher.refresh(),
    settle: () => maintenance.run(),
    publisher,
    transport: inProcessTransport({ store, fleet, publisher, closing: closing.signal }),
    async close() {
      closing.abort()
      stopListening()
      await maintenance.stop()
      publisher.close()
      await publisher.refresh()
      await tierLimit.close()
    },
  }
}

const ROUTES = [
  {
    pattern: /^\/$|^\/(v1\/)?(docs|redoc|openapi\.json)$|^\/(health|ready)$|^\/v1\/gateways\/stream$/,
    method: 'GET',
  },
  ...ENDPOINTS.map(endpoint => ({
    pattern: new RegExp(`^${routePath(endpoint.path).replace(/:\w+/g, '[^/]+')}$`),
    method: endpoint.method.toUpperCase(),
  })),
]

/** Methods of a path, for `Allow` (RFC 9110 §10.2.1). */
function methodsAt(path: string): readonly string[] {
  const methods = new Set(ROUTES.filter(route => route.pattern.test(path)).map(route => route.method))
  if (methods.has('GET')) methods.add('HEAD')
  return [...methods].sort()
}
