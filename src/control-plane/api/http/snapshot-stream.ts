/** The route of the snapshot stream: authorizes and registers a gateway instance. `feed.ts` writes the events. */
import type { Hono } from 'hono'
import { feed } from '../../publisher/feed.ts'
import { everyTenant, helloQuery, requirePublished } from '../routes/gateways.ts'
import { authorize } from './access.ts'
import { admit, BASE, type MountParts } from './mount.ts'
import type { StreamRoute } from './openapi.ts'
import { invalid, Problem } from './problem.ts'
import { validateInput } from './validate.ts'

const MAX_STREAMS = 1_000

export const snapshotStream: StreamRoute = {
  path: '/gateways/stream',
  tag: 'gateway',
  id: 'streamSnapshots',
  summary: 'Register a gateway instance and follow the snapshots',
  query: helloQuery,
  description:
    'Server-sent events: `hello`, then for each update `begin`, `plans`, `tenants`, `removed` and `commit`, whose id is the version',
}

/** @param closing fires when the control plane stops */
export function mountStream(app: Hono, parts: MountParts, closing: AbortSignal): void {
  let open = 0
  app.get(BASE + snapshotStream.path, async context => {
    const standing = await admit(context, parts, undefined)
    const { principal, crossesTenants } = standing
    const { options, services } = parts
    const { tenant = null } = await everyTenant({ principal, crossesTenants })
    await authorize(options.policy(), standing, {
      action: 'control.gateways.connect',
      resourceId: '*',
      tenant,
      own: false,
      timeMs: options.now(),
    })
    const checked = validateInput(helloQuery, context.req.query(), 'query')
    if (!checked.ok) throw invalid(checked.faults)
    requirePublished(services)
    if (open >= MAX_STREAMS)
      throw new Problem(
        'rate_limited',
        'Too many gateway instances are connected. Connect to another control-plane instance, or retry later.',
      )
    const { name, url, version, workers, issuer, audiences, from } = checked.value
    const gateway = await services.fleet.register({
      name,
      url,
      version,
      workers,
      authConfig: {
        ...options.authConfig,
        ...(issuer === undefined ? {} : { issuer }),
        ...(audiences === undefined ? {} : { audiences: audiences.split(',').map(each => each.trim()) }),
      },
    })
    open++
    const stream = feed({
      store: options.store,
      publisher: services.publisher,
      gatewayId: gateway.id,
      sequence: gateway.reportSequence,
      from: context.req.header('last-event-id') ?? from ?? null,
      resync: gateway.resyncRequestedAt?.toISOString() ?? null,
      endsAfterMs: Math.max(0, principal.expiresAtMs - options.now()),
      signal: AbortSignal.any([closing, context.req.raw.signal]),
      onEnd: () => open--,
    })
    return context.body(stream, 200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    })
  })
}
