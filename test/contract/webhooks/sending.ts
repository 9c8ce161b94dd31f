/** A control plane of the contract suites that also sends its webhooks, and functions for what tests do with both. */
import { setTimeout as sleep } from 'node:timers/promises'
import { startWebhooks, type Webhooks } from '../../../src/control-plane/webhooks/webhook-sending.ts'
import { createEgress, type EgressOptions } from '../../../src/net/egress/client.ts'
import { openPlane, type Plane, type Reply } from '../control/plane.ts'
import type { Cluster } from '../store/postgres-cluster.ts'

export const SECRET = 'the secret of the tests, long enough'

export interface Sending {
  readonly plane: Plane
  readonly webhooks: Webhooks
  readonly outcomes: { success: number; retry: number; failed: number }
  /** Moves the clock through the test hook. */
  advance(duration: string): Promise<void>
  /** A tenant with one API and no webhook. */
  tenant(name: string): Promise<Workplace>
  close(): Promise<void>
}

/** Requests for one tenant, sent by an administrator of the platform. */
export interface Workplace {
  readonly id: string
  webhook(url: string, fields?: object): Promise<string>
  /** Asks for a subscription; `subscription.created` follows. */
  subscribe(application: string): Promise<string>
  approve(subscription: string): Promise<string>
  deliveries(webhook: string): Promise<readonly Shown[]>
  call(method: string, path: string, body?: unknown): Promise<Reply>
}

export interface Shown {
  readonly id: string
  readonly event: string
  readonly status: string
  readonly status_code: number | null
  readonly response_body: string | null
  readonly attempt: number
  readonly next_attempt_at: string | null
  readonly delivered_at: string | null
  readonly duration_ms: number | null
  readonly error: string | null
  readonly created_at: string
}

export interface SendingOptions {
  readonly cluster?: Cluster | undefined
  readonly timeoutMs?: number
  readonly httpsOnly?: boolean
  readonly egress?: Partial<EgressOptions>
}

export async function openSending(options: SendingOptions = {}): Promise<Sending> {
  const clockOf = { advance: (_ms: number) => {} }
  const plane = await openPlane({
    cluster: options.cluster,
    options: { advanceClock: ms => clockOf.advance(ms) },
  })
  const egress = createEgress({ allow: [], allowLoopback: true, ...options.egress })
  const outcomes = { success: 0, retry: 0, failed: 0 }
  const webhooks = await startWebhooks({
    store: plane.store,
    egress,
    now: () => plane.clock.nowMs,
    httpsOnly: options.httpsOnly ?? false,
    userAgent: 'toolgate/test',
    pollMs: 200,
    ...(options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs }),
    onOutcome: outcome => {
      outcomes[outcome]++
    },
    onFault: (message, error) => plane.faults.push([message, error]),
  })
  clockOf.advance = ms => {
    plane.clock.nowMs += ms
    webhooks.nudge()
  }
  return {
    plane,
    webhooks,
    outcomes,
    async advance(duration) {
      const reply = await plane.call(null, 'POST', '/test/clock', { advance: duration })
      if (reply.status !== 200) throw new Error(`${duration}: ${JSON.stringify(reply.body)}`)
    },
    tenant: name => workplace(plane, name),
    async close() {
      await webhooks.close()
      await egress.close()
      await plane.close()
    },
  }
}

let apis = 0

async function workplace(plane: Plane, name: string): Promise<Workplace> {
  const made = async (path: string, body: unknown): Promise<Reply['body']> => {
    const reply = await plane.call('platform', 'POST', path, body)
    if (reply.status >= 300) throw new Error(`${path}: ${reply.status} ${JSON.stringify(reply.body)}`)
    return reply.body
  }
  const { id } = await made('/v1/tenants', { name, tier: 'enterprise' })
  const base = `/v1/tenants/${id}`
  const api = await made(`${base}/apis`, {
    name: 'Orders',
    upstream_url: 'http://127.0.0.1:9/orders',
    path: `/orders-${++apis}`,
  })
  return {
    id,
    call: (method, path, body) => plane.call('platform', method, `${base}${path}`, body),
    async webhook(url, fields = {}) {
      return (await made(`${base}/webhooks`, { url, events: ['*'], secret: SECRET, ...fields })).id
    },
    async subscribe(application) {
      const body = { api_id: api.id, plan: 'silver', application }
      return (await made(`${base}/subscriptions`, body)).id
    },
    async approve(subscription) {
      return (await made(`${base}/subscriptions/${subscription}/approve`, {})).api_key
    },
    async deliveries(webhook) {
      const all: Shown[] = []
      for (let page = 1; ; page++) {
        const path = `${base}/webhooks/${webhook}/deliveries?limit=100&page=${page}`
        const { items, total } = (await plane.call('platform', 'GET', path)).body
        all.push(...items)
        if (all.length >= total || items.length === 0) return all
      }
    },
  }
}

/** Waits for a condition; on a busy machine it may take long. */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  ms = 20_000,
): Promise<void> {
  const endMs = performance.now() + ms
  while (!(await condition())) {
    if (performance.now() > endMs) throw new Error(`still waiting for: ${what}`)
    await sleep(10)
  }
}
