/** The steps of `demo --control-plane`, with their checks and the deletion of the created resources. It prints nothing itself: the transcript does. */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type LoopbackServer, startLoopbackServer } from '../loopback-server.ts'
import { DemoFailure } from './demo-failure.ts'
import { type DemoExchange, exchange } from './exchange.ts'
import { expect, expectStatus, field, text } from './expect.ts'
import type { DemoOptions } from './steps.ts'
import { findTokenEndpoint, getToken } from './token.ts'
import type { Transcript } from './transcript.ts'

export interface ControlPlaneDemoOptions extends DemoOptions {
  /** API URL of the control plane, without `/v1`. */
  readonly apiUrl: string
  /** undefined: a backend started by the demo. */
  readonly upstreamUrl: string | undefined
}

/** A push reaches every gateway within a second; a poll within five. */
const MAX_PROPAGATION_MS = 10_000
/** Gateways report every 5 s. */
const MAX_REPORT_DELAY_MS = 20_000
const POLL_MS = 10
const CALLS = 5

/** @throws DemoFailure at the first unexpected response. */
export async function walkControlPlane(
  options: ControlPlaneDemoOptions,
  transcript: Transcript,
): Promise<void> {
  const upstream = options.upstreamUrl === undefined ? await startUpstream() : undefined
  try {
    transcript.step('token', 'Get a token as demo-admin, the administrator')
    const endpoint = await findTokenEndpoint(options.url, options.authUrl, transcript)
    const token = await getToken(endpoint, 'demo-admin', transcript)
    transcript.ok('a signed JWT')
    await new Walk(options.apiUrl, token, transcript).run(options.upstreamUrl ?? upstream!.url)
  } finally {
    await upstream?.close()
  }
}

class Walk {
  readonly #apiUrl: string
  readonly #token: string
  readonly #transcript: Transcript
  /** Paths of the created resources, deleted in reverse order. */
  readonly #made: string[] = []

  constructor(apiUrl: string, token: string, transcript: Transcript) {
    this.#apiUrl = apiUrl
    this.#token = token
    this.#transcript = transcript
  }

  async run(upstreamUrl: string): Promise<void> {
    try {
      await this.#walk(upstreamUrl)
    } finally {
      for (const path of this.#made.reverse()) await this.#ask('DELETE', path).catch(() => {})
    }
  }

  async #walk(upstreamUrl: string): Promise<void> {
    const transcript = this.#transcript
    const name = `demo-${randomBytes(4).toString('hex')}`

    transcript.step('tenant', 'Create a tenant')
    const tenant = await this.#create('/tenants', {
      name,
      tier: 'business',
      admin_email: `ops@${name}.example`,
      region: 'default',
    })
    const base = `/tenants/${text(tenant, 'id')}`
    transcript.ok(`${name} is ${text(tenant, 'status')} at ${text(tenant, 'gateway_url')}`)

    transcript.step('api', 'Publish an API that requires a key')
    const api = await this.#create(`${base}/apis`, {
      name: 'Greeter',
      description: 'Echoes the request',
      upstream_url: upstreamUrl,
      path: '/greeter',
      version: '1',
      auth_required: true,
    })
    const publicUrl = text(api, 'public_url')
    const guarded = await this.#until(() => call(publicUrl), 401, MAX_PROPAGATION_MS)
    transcript.show(guarded.last)
    transcript.ok(`${guarded.tookMs} ms after the request, the gateway serves the API and requires a key`)

    transcript.step('plan', 'Offer a plan')
    const plan = await this.#create('/plans', {
      slug: name,
      name: 'Demo plan',
      rate_limit_per_second: 1000,
      rate_limit_per_minute: 10_000,
      daily_request_limit: 100_000,
      monthly_request_limit: 1_000_000,
      burst_limit: 100,
    })
    transcript.ok(`plan ${text(plan, 'slug')}`)

    transcript.step('subscription', 'Subscribe an application to the API')
    const subscription = await this.#create(`${base}/subscriptions`, {
      api_id: text(api, 'id'),
      plan: text(plan, 'slug'),
      application: 'demo-app',
    })
    expect(
      field(subscription, 'status') === 'pending_approval' && field(subscription, 'api_key') === null,
      'a pending subscription without a key',
      subscription.response,
    )
    const subscriptionPath = `${base}/subscriptions/${text(subscription, 'id')}`
    transcript.ok('the subscription is pending approval and has no key')

    transcript.step('approve', 'Approve the subscription')
    const approved = await this.#showExchange('POST', `${subscriptionPath}/approve`, {})
    expectStatus(approved, 200)
    const key = text(approved, 'api_key')
    transcript.ok('the subscription is approved; only this response contains the key')

    transcript.step('call', `Call the API ${CALLS} times with the key`)
    const admitted = await this.#until(() => call(publicUrl, key), 200, MAX_PROPAGATION_MS)
    transcript.show(admitted.last)
    expect(
      field(admitted.last, 'saw_a_key') !== true,
      'no API key in the request to the upstream',
      admitted.last.response,
    )
    let calls = 1
    while (calls < CALLS) {
      expectStatus(await call(publicUrl, key), 200)
      calls++
    }
    transcript.ok(`the key works ${admitted.tookMs} ms after the approval`)

    transcript.step('usage', 'Read the usage of the subscription')
    const used = await this.#until(
      () => this.#ask('GET', `${subscriptionPath}/usage`),
      responded => Number(field(responded, 'requests')) >= CALLS,
      MAX_REPORT_DELAY_MS,
    )
    transcript.show(used.last)
    transcript.ok(`the control plane counted ${field(used.last, 'requests')} requests`)

    transcript.step('rotate', 'Rotate the key; the old key stays valid for an hour')
    const keys = await this.#ask('GET', `${base}/apikeys`)
    const keyPath = `${base}/apikeys/${firstId(keys)}`
    const rotated = await this.#showExchange('POST', `${keyPath}/rotate`, { grace_period_hours: 1 })
    const newKey = text(rotated, 'key')
    const spread = await this.#until(() => call(publicUrl, newKey), 200, MAX_PROPAGATION_MS)
    expectStatus(await call(publicUrl, key), 200)
    transcript.ok(
      `the new key works ${spread.tookMs} ms after the rotation; the old key remains valid until its grace period ends`,
    )

    transcript.step('revoke', 'Revoke the key')
    const revoked = await this.#showExchange('DELETE', keyPath)
    expectStatus(revoked, 204)
    const refused = await this.#until(() => call(publicUrl, newKey), 401, MAX_PROPAGATION_MS)
    transcript.show(refused.last)
    expectStatus(await call(publicUrl, key), 401)
    transcript.ok(`both keys are rejected ${refused.tookMs} ms after the revocation`)
  }

  async #create(path: string, body: object): Promise<DemoExchange> {
    const made = await this.#showExchange('POST', path, body)
    expectStatus(made, 201)
    this.#made.push(`${path}/${text(made, 'id')}`)
    return made
  }

  async #showExchange(method: DemoExchange['method'], path: string, body?: object): Promise<DemoExchange> {
    const responded = await this.#ask(method, path, body)
    this.#transcript.show(responded)
    return responded
  }

  #ask(method: DemoExchange['method'], path: string, body?: object): Promise<DemoExchange> {
    return exchange({
      method,
      url: `${this.#apiUrl}/v1${path}`,
      headers: { authorization: `Bearer ${this.#token}`, accept: 'application/json' },
      ...(body === undefined ? {} : { body }),
    })
  }

  /** Repeats a request until the response is as wanted. @throws DemoFailure after `withinMs` */
  async #until(
    ask: () => Promise<DemoExchange>,
    wanted: number | ((responded: DemoExchange) => boolean),
    withinMs: number,
  ): Promise<{ last: DemoExchange; tookMs: number }> {
    const startedAt = performance.now()
    for (;;) {
      const last = await ask()
      const tookMs = Math.round(performance.now() - startedAt)
      if (typeof wanted === 'number' ? last.status === wanted : wanted(last)) return { last, tookMs }
      if (tookMs > withinMs) {
        const what = typeof wanted === 'number' ? `status ${wanted}` : 'the counted requests'
        throw new DemoFailure(
          `${what} from ${last.url} within ${withinMs} ms`,
          `${last.status} ${JSON.stringify(last.response)}`,
        )
      }
      await sleep(POLL_MS)
    }
  }
}

function call(url: string, key?: string): Promise<DemoExchange> {
  return exchange({
    method: 'GET',
    url: `${url}/hello`,
    headers: key === undefined ? {} : { 'x-api-key': key },
  })
}

function firstId(list: DemoExchange): string {
  const items = field(list, 'items')
  const first: unknown = Array.isArray(items) ? items[0]?.id : undefined
  expect(typeof first === 'string', 'an API key in the list of keys', list.response)
  return first
}

function startUpstream(): Promise<LoopbackServer> {
  return startLoopbackServer((request, response) => {
    request.resume()
    response.setHeader('content-type', 'application/json')
    response.end(
      JSON.stringify({
        hello: 'from the upstream',
        method: request.method,
        path: request.url,
        // the gateway must not forward the caller's credentials
        saw_a_key: request.headers['x-api-key'] !== undefined || request.headers.authorization !== undefined,
      }),
    )
  })
}
