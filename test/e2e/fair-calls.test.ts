/** A tenant that floods slow, hanging and failing backends beside others: what it takes of the places and connections, and what the others notice. */
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { atRate } from '../fixtures/open-loop.ts'
import { type TwoTenants, twoTenants } from '../fixtures/two-tenants.ts'

const MAX_IN_FLIGHT = 600
let world: TwoTenants
const servers: Server[] = []
/** Never responded to. */
const hanging: ServerResponse[] = []

async function listen(respond: (response: ServerResponse) => void): Promise<string> {
  const server = createServer((request, response) => void request.resume().on('end', () => respond(response)))
  servers.push(server)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

interface Published {
  readonly url: string
  readonly key: string
}

async function made(path: string, body: object) {
  const reply = await world.api('POST', path, world.root, body)
  expect(reply.status, reply.text).toBe(201)
  return reply.json
}

/** An API of the tenant, and a key to it with a plan without limits. */
async function publish(tenant: 'acme' | 'beta', name: string, upstreamUrl: string): Promise<Published> {
  const id = world[tenant]
  const api = await made(`/tenants/${id}/apis`, { name, path: `/${name}`, upstream_url: upstreamUrl })
  const asked = { api_id: api.id, plan: 'unlimited', application: `${tenant}-app` }
  const { api_key: key } = await made(`/tenants/${id}/subscriptions`, asked)
  const url = `${world.gateway.url}/t/${tenant}/${name}`
  // a method that the upstream never sees
  const call = async () =>
    (await fetch(`${url}?unknown=${name}`, { method: 'OPTIONS', headers: { 'x-api-key': key } })).status
  await expect.poll(call, { timeout: 15_000 }).not.toBe(401)
  return { url, key }
}

beforeAll(async () => {
  world = await twoTenants({
    MAX_IN_FLIGHT: String(MAX_IN_FLIGHT),
    WORKERS: '1',
    UPSTREAM_QUEUE_TIMEOUT: '2s',
  })
  await made('/plans', { slug: 'unlimited', name: 'Unlimited', requires_approval: false })
})
afterAll(async () => {
  for (const response of hanging) response.destroy()
  await world?.stop()
  for (const server of servers) {
    server.closeAllConnections()
    server.close()
  }
})

interface Seen {
  readonly statuses: Map<number, number>
  readonly ms: number[]
  readonly refused: { readonly error: string; readonly retryAfter: string | null }[]
}

/** Calls at a rate, each without waiting for the others. */
async function callAt(perSecond: number, forMs: number, to: Published, seen: Seen): Promise<void> {
  const until = performance.now() + forMs
  const pending: Promise<void>[] = []
  await atRate(
    perSecond,
    () => performance.now() < until,
    () => pending.push(callOnce(to, seen)),
  )
  await Promise.all(pending)
}

async function callOnce({ url, key }: Published, seen: Seen): Promise<void> {
  const beganAt = performance.now()
  const signal = AbortSignal.timeout(20_000)
  const response = await fetch(url, { headers: { 'x-api-key': key }, signal }).catch(() => undefined)
  if (response === undefined) return
  const text = await response.text()
  seen.ms.push(performance.now() - beganAt)
  seen.statuses.set(response.status, (seen.statuses.get(response.status) ?? 0) + 1)
  if (response.status !== 200)
    seen.refused.push({ error: JSON.parse(text).error, retryAfter: response.headers.get('retry-after') })
}

const emptySeen = (): Seen => ({ statuses: new Map(), ms: [], refused: [] })

it('a tenant whose backends hang takes its share of the places, and the others are served', {
  timeout: 60_000,
}, async () => {
  const quick = await listen(response => response.end('ok'))
  // several, so that the places of the gateway are filled and not those of one origin
  const hangingUrls = await Promise.all(
    [1, 2, 3, 4, 5, 6].map(async at =>
      publish('acme', `hangs-${at}`, await listen(response => hanging.push(response))),
    ),
  )
  const well = await publish('beta', 'well', quick)
  const [flood, others] = [emptySeen(), emptySeen()]
  const ends = hangingUrls.map(url => callAt(60, 6_000, url, flood))
  await sleep(3_000)
  await callAt(20, 3_000, well, others)
  expect(others.refused).toEqual([])
  expect([...others.statuses.keys()]).toEqual([200])
  expect(others.ms.length).toBeGreaterThan(40)
  const inFlight = async () => {
    const metrics = await (await fetch(`${world.gateway.running.addresses.metrics_url}/metrics`)).text()
    return Number(/^platform_calls_in_flight (\d+)$/m.exec(metrics)?.[1])
  }
  expect(await inFlight()).toBeGreaterThan(MAX_IN_FLIGHT / 2)
  // refused calls whose events wait for the disk are counted too
  await expect.poll(inFlight).toBeLessThan(MAX_IN_FLIGHT)
  for (const response of hanging.splice(0)) response.end('late')
  await Promise.all(ends)
  expect(flood.refused.length).toBeGreaterThan(0)
  for (const { error, retryAfter } of flood.refused) {
    expect(['overloaded', 'upstream_busy']).toContain(error)
    expect(retryAfter).toBe('1')
  }
})

it('a tenant that asks a slow backend for more than it can do leaves the others their calls', {
  timeout: 60_000,
}, async () => {
  // a second for a call, of which 128 of one tenant run at once
  const slow = await listen(response => setTimeout(() => response.end('ok'), 1_000))
  const [ofAcme, ofBeta] = [await publish('acme', 'slow', slow), await publish('beta', 'slow', slow)]
  const quick = await publish('beta', 'quick', await listen(response => response.end('ok')))
  const [flood, others, control] = [emptySeen(), emptySeen(), emptySeen()]
  const flooding = callAt(300, 7_000, ofAcme, flood)
  await sleep(2_000)
  await Promise.all([callAt(5, 4_000, ofBeta, others), callAt(5, 4_000, quick, control)])
  await flooding
  expect([...others.statuses.keys()]).toEqual([200])
  // a call to an idle backend at the same time is delayed by the machine alone, and not by the queue
  expect(Math.max(...others.ms)).toBeLessThan(2_000 + Math.max(...control.ms))
  // what the backend can do is done
  expect(flood.statuses.get(200)).toBeGreaterThan(500)
  for (const { error, retryAfter } of flood.refused) {
    expect(['overloaded', 'upstream_busy']).toContain(error)
    expect(retryAfter).toBe('1')
  }
})
