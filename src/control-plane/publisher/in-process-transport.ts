/** The link to a gateway in the same process, by function calls. */
import type { ControlPlaneTransport } from '../../link/transport.ts'
import type { StreamEvent } from '../../link/update-events.ts'
import { Problem } from '../api/http/problem.ts'
import { EVERY_TENANT, type Store } from '../store/store.ts'
import type { Fleet } from './fleet.ts'
import type { Publisher } from './publisher.ts'

interface InProcessParts {
  readonly store: Store
  readonly fleet: Fleet
  readonly publisher: Publisher
  /** Fires when the control plane stops. */
  readonly closing: AbortSignal
}

export function inProcessTransport(parts: InProcessParts): ControlPlaneTransport {
  const { store, fleet, publisher, closing } = parts
  return {
    async connect(hello, from) {
      // at start-up the first publication is under way: waiting for it is faster than a retry
      if (!publisher.isPublished) await publisher.refresh()
      const closed = new AbortController()
      const events = await fleet.connect(hello, {
        from,
        endsAfterMs: Number.POSITIVE_INFINITY,
        signal: AbortSignal.any([closing, closed.signal]),
      })
      let heardAtMs = performance.now()
      async function* heard(): AsyncGenerator<StreamEvent, void, void> {
        for await (const event of events) {
          heardAtMs = performance.now()
          yield event
        }
      }
      return {
        events: heard(),
        get heardAtMs() {
          return heardAtMs
        },
        close: () => closed.abort(),
      }
    },
    poll: async from => fleet.poll(from),
    reply: async (gatewayId, reply) => fleet.questions.take(gatewayId, reply),
    async report(gatewayId, report) {
      try {
        await store.write(EVERY_TENANT, tx => fleet.report(tx, gatewayId, report))
        return true
      } catch (error) {
        if (error instanceof Problem && error.code === 'not_found') return false
        throw error
      }
    },
  }
}
