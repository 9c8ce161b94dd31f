/** Whether the receiver got an event for each acknowledged change, with one delivery id. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Received } from '../../fixtures/webhook-receivers.ts'
import type { PromisedEvent } from '../record.ts'

/** A delivery whose attempt failed is repeated after a minute and up to 10 %. */
const MAX_WAIT_MS = 150_000
const MAX_EXAMPLES = 5

export interface WebhooksFound {
  readonly findings: readonly string[]
  readonly promised: number
  readonly deliveries: number
  readonly received: number
}

/** Waits until no event is missing. @param received grows meanwhile */
export async function checkWebhooks(
  promised: readonly PromisedEvent[],
  received: readonly Pick<Received, 'headers' | 'payload'>[],
  maxWaitMs = MAX_WAIT_MS,
): Promise<WebhooksFound> {
  for (const until = Date.now() + maxWaitMs; ; await sleep(500)) {
    const idsOf = new Map<string, Set<string>>()
    for (const { headers, payload } of received) {
      const key = keyOf({
        event: payload.event,
        subscriptionId: payload.data.subscription_id,
        keyPrefix: payload.event === 'subscription.key_rotated' ? payload.data.key_prefix : '',
      })
      idsOf.set(key, (idsOf.get(key) ?? new Set()).add(String(headers['webhook-id'])))
    }
    const missing = promised.filter(one => !idsOf.has(keyOf(one)))
    if (missing.length > 0 && Date.now() < until) continue
    const repeated = [...idsOf].filter(([, ids]) => ids.size > 1).map(([key]) => key)
    const findings: string[] = []
    if (missing.length > 0)
      findings.push(
        `${missing.length} of ${promised.length} acknowledged changes were not delivered: ${missing
          .slice(0, MAX_EXAMPLES)
          .map(one => `${keyOf(one)} acknowledged at ${new Date(one.acknowledgedAt).toISOString()}`)
          .join(', ')}.`,
      )
    if (repeated.length > 0)
      findings.push(
        `${repeated.length} changes were delivered under several ids: ${repeated.slice(0, MAX_EXAMPLES).join(', ')}.`,
      )
    const deliveries = new Set(received.map(({ headers }) => headers['webhook-id'])).size
    return { findings, promised: promised.length, deliveries, received: received.length }
  }
}

function keyOf({ event, subscriptionId, keyPrefix }: Omit<PromisedEvent, 'acknowledgedAt'>): string {
  return `${event} ${subscriptionId} ${keyPrefix}`.trim()
}
