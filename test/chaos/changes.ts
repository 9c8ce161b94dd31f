/** Changes of APIs, subscriptions and keys during a chaos run: it records what control planes acknowledge, and checks at the end that gateways serve it. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Accounts } from './accounts.ts'
import { now } from './backend.ts'
import { type Got, jsonOf, send } from './http.ts'
import { upOf } from './load.ts'
import { type Random, seeded } from './random.ts'
import type { RunRecord } from './record.ts'
import { type System, TENANT } from './system.ts'

/** An API with a subscription, as it was last acknowledged. */
interface Life {
  readonly name: string
  readonly apiId: string
  readonly subscriptionId: string
  /** Accepted: those of the subscription that were not replaced. */
  readonly keys: string[]
  /** Replaced by a rotation. */
  readonly oldKeys: string[]
  upstream: string
  subscribed: boolean
  exists: boolean
  /** A change was not acknowledged, so its state is not known. */
  unknown: boolean
}

export interface Changes {
  /** Resolves when every change has ended. */
  stop(): Promise<void>
  /** Whether every gateway serves what was acknowledged, within 20 s. @returns findings, each a sentence */
  check(): Promise<readonly string[]>
}

const LIVES_AT_ONCE = 3
/** That many stay; beyond it, the oldest is deleted. */
const MAX_KEPT = 20
const PAUSE_MS = 500
const ATTEMPT_MS = 10_000
const RETRY_MS = 250
const MAX_CHANGE_MS = 90_000
const MAX_PROPAGATION_MS = 30_000
const MAX_CHECK_MS = 20_000
/** Other than the seed of calls and schedule, so that none depends on how many numbers another took. */
const SEED_OFFSET = 1

export function startChanges(system: System, accounts: Accounts, record: RunRecord): Changes {
  const random = seeded(record.seed + SEED_OFFSET)
  const client = new ControlClient(system, random, record)
  const base = `/tenants/${accounts.tenantId}`
  const kept: Life[] = []
  const lives: Life[] = []
  let stopping = false
  let names = 0
  const pause = () => sleep(random.between(0.5 * PAUSE_MS, 1.5 * PAUSE_MS))

  function promise(event: string, subscriptionId: string, keyPrefix = ''): void {
    record.promised.push({ event: `subscription.${event}`, subscriptionId, keyPrefix, acknowledgedAt: now() })
  }

  async function live(): Promise<void> {
    const name = `life-${names++}`
    const upstream = `${system.backends.main.url}/${name}`
    const api = await client.change('POST', `${base}/apis`, {
      name,
      path: `/${name}`,
      upstream_url: `${upstream}/a`,
      auth_required: true,
    })
    const { id } = await client.change('POST', `${base}/subscriptions`, {
      api_id: api.id,
      plan: 'enterprise',
      application: `${name}-application`,
    })
    promise('created', id)
    const life: Life = {
      name,
      apiId: api.id,
      subscriptionId: id,
      keys: [],
      oldKeys: [],
      upstream: `/${name}/a`,
      subscribed: true,
      exists: true,
      unknown: false,
    }
    await pause()
    const { api_key } = await client.change('POST', `${base}/subscriptions/${id}/approve`, {})
    promise('approved', id)
    life.keys.push(api_key)
    await propagated(system, life, record)
    lives.push(life)
    try {
      await grow(life)
    } catch (error) {
      life.unknown = true
      throw error
    }
  }

  async function grow(life: Life): Promise<void> {
    const { apiId, subscriptionId: id, name } = life
    const upstream = `${system.backends.main.url}/${name}`
    await client.change('PATCH', `${base}/apis/${apiId}`, { upstream_url: `${upstream}/b` })
    life.upstream = `/${name}/b`
    await pause()
    const second = await client.change('POST', `${base}/apikeys`, { subscription_id: id, name: 'second' })
    await pause()
    const rotated = await client.change('POST', `${base}/apikeys/${second.id}/rotate`, {
      grace_period_hours: 0,
    })
    promise('key_rotated', id, rotated.prefix)
    life.oldKeys.push(second.key)
    life.keys.push(rotated.key)
    await pause()
    const end = random.below(3)
    if (end === 0) {
      await client.change('DELETE', `${base}/subscriptions/${id}`)
      promise('revoked', id)
      life.subscribed = false
    }
    if (end === 1) await remove(life)
    else kept.push(life)
    if (kept.length > MAX_KEPT) await removeOldest()
  }

  async function removeOldest(): Promise<void> {
    const oldest = kept.shift()!
    oldest.unknown = true
    await remove(oldest)
    oldest.unknown = false
  }

  /** With the API its subscription ends. */
  async function remove(life: Life): Promise<void> {
    await client.change('DELETE', `${base}/apis/${life.apiId}`)
    if (life.subscribed) promise('revoked', life.subscriptionId)
    life.exists = false
  }

  async function loop(): Promise<void> {
    while (!stopping)
      await live().catch(error => record.violations.push(`A change failed: ${(error as Error).message}`))
  }

  const loops = Array.from({ length: LIVES_AT_ONCE }, loop)
  return {
    async stop() {
      stopping = true
      await Promise.all(loops)
    },
    check: () => checkLives(system, lives),
  }
}

/** Repeats each change at one control plane or another until it is acknowledged. */
class ControlClient {
  readonly #system: System
  readonly #random: Random
  readonly #record: RunRecord
  #sent = 0

  constructor(system: System, random: Random, record: RunRecord) {
    this.#system = system
    this.#random = random
    this.#record = record
  }

  /** @returns the body. @throws Error when it is refused, or not acknowledged within 90 s */
  // biome-ignore lint/suspicious/noExplicitAny: bodies of every shape
  async change(method: 'POST' | 'PATCH' | 'DELETE', path: string, body?: object): Promise<any> {
    const key = `chaos-${this.#record.seed}-${this.#sent++}`
    let last = 'no control plane was up'
    let attempts = 0
    for (const until = Date.now() + MAX_CHANGE_MS; Date.now() < until; await sleep(RETRY_MS)) {
      const control = upOf(this.#system.controls, this.#random)
      if (control === undefined) continue
      attempts++
      const startedAt = now()
      const response = await send(`${control.url}/v1${path}`, {
        method,
        timeoutMs: ATTEMPT_MS,
        headers: {
          authorization: `Bearer ${this.#system.adminToken}`,
          ...(method === 'POST' ? { 'idempotency-key': key } : {}),
        },
        ...(body === undefined ? {} : { body }),
      })
      const { status, text } = response
      const ok = status !== 0 && status < 500
      this.#record.calls.push({
        kind: 'change',
        member: control.name,
        id: `${method} ${path}`,
        startedAt,
        endedAt: now(),
        status,
        ok,
        detail: ok ? '' : text.slice(0, 200),
      })
      if (status >= 200 && status < 300) return jsonOf(response)
      // it may have been carried out although its response was lost
      if (method === 'DELETE' && attempts > 1 && (status === 404 || status === 409)) return undefined
      last = `${control.name} ${status} ${text.slice(0, 200)}`
      if (ok) throw new Error(`${method} ${path}: ${last}`)
    }
    throw new Error(`${method} ${path} was not acknowledged within ${MAX_CHANGE_MS / 1000} s: ${last}`)
  }
}

/** Until each gateway that is up serves the first key. */
async function propagated(system: System, life: Life, record: RunRecord): Promise<void> {
  const beganAt = performance.now()
  const late = new Set(system.gateways)
  while (late.size > 0 && performance.now() - beganAt < MAX_PROPAGATION_MS) {
    for (const gateway of late)
      if (!gateway.up || serves(await ask(gateway.url, life, life.keys[0]!), life)) late.delete(gateway)
    if (late.size > 0) await sleep(50)
  }
  record.propagationMs.push(performance.now() - beganAt)
}

const ask = (gateway: string, { name }: Life, key: string): Promise<Got> =>
  send(`${gateway}/t/${TENANT}/${name}/0`, { headers: { 'x-api-key': key } })

const serves = (response: Got, { upstream }: Life): boolean =>
  response.status === 200 && jsonOf(response)?.path === `${upstream}/0`

async function checkLives(system: System, lives: readonly Life[]): Promise<readonly string[]> {
  const until = Date.now() + MAX_CHECK_MS
  const findings: string[] = []
  for (const life of lives.filter(({ unknown }) => !unknown)) {
    const open = life.exists && life.subscribed
    const accepted = open ? life.keys : []
    const refused = open ? life.oldKeys : [...life.keys, ...life.oldKeys]
    for (const { name, url } of system.gateways) {
      const expect = async (keys: readonly string[], what: string, right: (got: Got) => boolean) => {
        for (const key of keys)
          for (;;) {
            const got = await ask(url, life, key)
            if (right(got)) break
            if (Date.now() > until) {
              findings.push(
                `${name}: ${life.name} ${what}, but the response is ${got.status} ${got.text.slice(0, 100)}`,
              )
              break
            }
            await sleep(100)
          }
      }
      await expect(accepted, `is served from ${life.upstream}`, got => serves(got, life))
      await expect(refused, 'refuses the key', ({ status }) => status === 401 || status === 404)
    }
  }
  return findings
}
