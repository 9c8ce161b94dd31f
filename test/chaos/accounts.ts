/** The fixed callers of a chaos run: plans, APIs, keys and a webhook at a control plane, and tokens of agents, made before the faults. */
import { setTimeout as sleep } from 'node:timers/promises'
import { jsonOf, send } from './http.ts'
import { type System, TENANT } from './system.ts'

export const MINUTE_LIMIT = 120
export const BURST_LIMIT = 4
export const MINUTE_CONSUMERS = ['minute-0', 'minute-1', 'minute-2'] as const
export const BURST_CONSUMERS = ['burst-0'] as const
export const AGENTS = ['agent-0', 'agent-1', 'agent-2', 'agent-3'] as const

export interface Accounts {
  readonly tenantId: string
  /** API keys by consumer: `open` and `side` without a limit, and those at their limit. */
  readonly keys: ReadonlyMap<string, string>
  /** Tokens by agent. */
  readonly tokens: ReadonlyMap<string, string>
}

/** @param receiverUrl gets every event of the tenant */
export async function createAccounts(system: System, receiverUrl: string): Promise<Accounts> {
  const { main, side } = system.backends
  const made = async (path: string, body: object, status = 201) => {
    const response = await send(`${system.controls[0]!.url}/v1${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${system.adminToken}` },
      body,
    })
    if (response.status !== status) throw new Error(`POST ${path}: ${response.status} ${response.text}`)
    return jsonOf(response)
  }
  const tenantId: string = (await made('/tenants', { name: TENANT, tier: 'enterprise' })).id
  const base = `/tenants/${tenantId}`
  await made('/plans', { slug: 'minute', name: 'Minute', rate_limit_per_minute: MINUTE_LIMIT })
  await made('/plans', { slug: 'burst', name: 'Burst', burst_limit: BURST_LIMIT })
  const apiOf = async (name: string, upstream: string): Promise<string> =>
    (
      await made(`${base}/apis`, {
        name,
        upstream_url: `${upstream}/${name}`,
        path: `/${name}`,
        auth_required: true,
      })
    ).id
  const apis = {
    open: await apiOf('open', main.url),
    side: await apiOf('side', side.url),
    limited: await apiOf('limited', main.url),
  }
  await made(`${base}/webhooks`, { url: receiverUrl, events: ['*'] })
  const keys = new Map<string, string>()
  const subscribe = async (apiId: string, application: string, plan: string): Promise<void> => {
    const { id } = await made(`${base}/subscriptions`, { api_id: apiId, plan, application })
    keys.set(application, (await made(`${base}/subscriptions/${id}/approve`, {}, 200)).api_key)
  }
  await subscribe(apis.open, 'open', 'enterprise')
  await subscribe(apis.side, 'side', 'enterprise')
  for (const consumer of MINUTE_CONSUMERS) await subscribe(apis.limited, consumer, 'minute')
  for (const consumer of BURST_CONSUMERS) await subscribe(apis.limited, consumer, 'burst')
  const tokens = new Map<string, string>()
  for (const agent of AGENTS) tokens.set(agent, await system.tokenOf(agent))
  await served(system, keys)
  return { tenantId, keys, tokens }
}

/** Until every gateway serves every key. */
async function served(system: System, keys: ReadonlyMap<string, string>): Promise<void> {
  const pathOf = (consumer: string): string =>
    keys.has(consumer) && /^(open|side)$/.test(consumer) ? consumer : 'limited'
  for (const { name, url } of system.gateways)
    for (const [consumer, key] of keys) {
      const address = `${url}/t/${TENANT}/${pathOf(consumer)}/0`
      for (const until = Date.now() + 30_000; ; await sleep(50)) {
        const response = await send(address, { headers: { 'x-api-key': key } })
        if (response.status === 200 || response.status === 429) break
        if (Date.now() > until)
          throw new Error(`${name} does not serve ${consumer}: ${response.status} ${response.text}`)
      }
    }
}
