/** Declares and mounts the route of the snapshot stream: admits a gateway instance and encodes events as SSE. `publisher/` makes the events. */
import type { Hono } from 'hono'
import type { StreamEvent } from '../../../link/update-events.ts'
import { HEARTBEAT } from '../../publisher/feed.ts'
import { everyTenant, helloQuery } from '../routes/gateways.ts'
import { authorizeRequest } from './access.ts'
import { findingsOf } from './access-log.ts'
import { admit, BASE, type MountParts } from './mount.ts'
import type { StreamRoute } from './openapi.ts'
import { invalid, Problem } from './problem.ts'
import { validateInput } from './validate.ts'

const MAX_STREAMS = 1_000

export const snapshotStream: StreamRoute = {
  path: '/gateways/stream',
  tag: 'gateway',
  id: 'streamSnapshots',
  summary: 'Register a gateway instance and receive snapshots as a stream',
  query: helloQuery,
  description:
    'Server-sent events: `hello`, then for each update `begin`, `plans`, `tenants`, `removed` and `commit`. The id of a `commit` event is the version of the snapshot. A `question` event asks the gateway for recorded calls; the gateway sends them with `POST /gateways/{gateway_id}/replies`',
}

/** @param closing fires when the control plane stops */
export function mountStream(app: Hono, parts: MountParts, closing: AbortSignal): void {
  let open = 0
  app.get(BASE + snapshotStream.path, async context => {
    findingsOf(context).operation = snapshotStream.id
    const standing = await admit(context, parts, undefined)
    const { principal, crossesTenants } = standing
    const { options, services } = parts
    const { tenant = null } = await everyTenant({ principal, crossesTenants })
    await authorizeRequest(options.policy(), standing, {
      action: 'control.gateways.connect',
      resourceId: '*',
      tenant,
      own: false,
      timeMs: options.now(),
    })
    const checked = validateInput(helloQuery, context.req.query(), 'query')
    if (!checked.ok) throw invalid(checked.faults)
    // nothing would end the stream of a response without a body
    if (context.req.raw.method === 'HEAD')
      return context.body(null, 200, { 'content-type': 'text/event-stream' })
    if (open >= MAX_STREAMS)
      throw new Problem(
        'rate_limited',
        `This control-plane instance already has ${MAX_STREAMS} connected gateways. Connect to another control-plane instance, or retry later.`,
      )
    const { name, url, version, workers, issuer, audiences, from } = checked.value
    const hello = {
      name,
      url,
      version,
      workers,
      authConfig: {
        ...options.authConfig,
        ...(issuer === undefined ? {} : { issuer }),
        ...(audiences === undefined ? {} : { audiences: audiences.split(',').map(each => each.trim()) }),
      },
    }
    const closed = new AbortController()
    // counted before the wait for the database: many may connect at once
    open++
    const events = await services.fleet
      .connect(hello, {
        from: context.req.header('last-event-id') ?? from ?? null,
        endsAfterMs: Math.max(0, principal.expiresAtMs - options.now()),
        signal: AbortSignal.any([closing, context.req.raw.signal, closed.signal]),
      })
      .catch((error: unknown) => {
        open--
        throw error
      })
    const stream = bodyOf(
      encode(events, () => open--),
      closed,
    )
    return context.body(stream, 200, {
      'content-type': 'text/event-stream',
      'x-accel-buffering': 'no',
    })
  })
}

/** @param closed ends the events when the reader cancels */
function bodyOf(
  chunks: AsyncGenerator<Uint8Array, void, void>,
  closed: AbortController,
): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const next = await chunks.next()
      if (next.done === true) controller.close()
      else controller.enqueue(next.value)
    },
    async cancel() {
      closed.abort()
      await chunks.return()
    },
  })
}

async function* encode(events: AsyncIterable<StreamEvent>, onEnd: () => void) {
  const encoder = new TextEncoder()
  try {
    for await (const event of events) yield encoder.encode(textOf(event))
  } finally {
    onEnd()
  }
}

/** JSON holds no line break, so one `data` line is enough (WHATWG HTML §9.2.6). The id of a `commit` is the version: clients reconnect with it. */
function textOf(event: StreamEvent): string {
  if (event === HEARTBEAT) return ': alive\n\n'
  const { name, data } = event
  const id = name === 'commit' ? `id: ${(data as { version: string }).version}\n` : ''
  return `${id}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`
}
