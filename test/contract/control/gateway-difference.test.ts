/** What a gateway that is behind does not serve yet: counted in versions, named by tenant and resource, and limited to the tenant of the caller. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Caller, type ForeignCaller, openPlane, type Plane, populate, type World } from './plane.ts'

let plane: Plane
let world: World
let id: string
let close: () => void
const report = {
  status: 'online' as const,
  error: null,
  workers: 1,
  resync: null,
  usage: [],
  keysUsed: [],
  consumersSeen: [],
  adminActions: [],
}

beforeAll(async () => {
  plane = await openPlane()
  world = await populate(plane)
  await plane.control.refresh()
  const { transport } = plane.control
  const hello = { name: 'edge', url: '', version: '1', workers: 1, authConfig: {} }
  const stream = await transport.connect(hello, null)
  close = () => stream.close()
  for await (const { name, data } of stream.events) {
    if (name !== 'hello') continue
    id = (data as { gateway_id: string }).gateway_id
    break
  }
}, 60_000)
afterAll(async () => {
  close()
  await plane.close()
})

const read = async (caller: Caller | ForeignCaller) => {
  const { status, body } = await plane.call(caller, 'GET', `/v1/gateways/${id}/difference`)
  expect(status, JSON.stringify(body)).toBe(200)
  return body
}

it('is not known of a gateway that has served nothing, and none of one that is up to date', async () => {
  expect(await read('platform')).toMatchObject({ from: null, versions: null, plans: null, tenants: null })
  const { version } = plane.control.publisher.share
  await plane.control.transport.report(id, { ...report, snapshotVersion: version, sequence: 1 })
  expect(await read('platform')).toMatchObject({ from: version, to: version, versions: 0, tenants: [] })
})

it('names each tenant that was changed since, to those who may see it', async () => {
  const from = plane.control.publisher.share.version
  for (const [tenant, path] of [
    [world.acme, '/one'],
    [world.globex, '/two'],
  ]) {
    const body = { name: 'New', upstream_url: 'http://127.0.0.1:9', path }
    expect((await plane.call('platform', 'POST', `/v1/tenants/${tenant}/apis`, body)).status).toBe(201)
    await plane.control.refresh()
  }
  const all = await read('platform')
  expect(all).toMatchObject({ from, versions: 2, plans: false })
  expect(all.resources).toEqual([
    { tenant_id: world.acme, kind: 'api', id: expect.stringMatching(/^api_/), name: '/one', change: 'added' },
    {
      tenant_id: world.globex,
      kind: 'api',
      id: expect.stringMatching(/^api_/),
      name: '/two',
      change: 'added',
    },
  ])
  expect(all.to).not.toBe(from)
  expect(new Set(all.tenants.map((each: { name: string }) => each.name))).toEqual(new Set(['acme', 'globex']))
  for (const caller of ['viewer', 'auditor'] as const)
    expect(await read(caller)).toMatchObject({
      tenants: [{ id: world.acme, name: 'acme' }],
      resources: [{ tenant_id: world.acme, name: '/one' }],
    })
  expect((await read('globex:viewer')).tenants).toEqual([{ id: world.globex, name: 'globex' }])
  expect((await plane.call('unprivileged', 'GET', `/v1/gateways/${id}/difference`)).status).toBe(403)
})

it('names what was changed and removed by its id, joined over versions, and nothing of a key but its prefix', async () => {
  const base = `/v1/tenants/${world.acme}`
  const revoked = await plane.call('admin', 'DELETE', `${base}/apikeys/${world.key}`)
  expect(revoked.status).toBeLessThan(300)
  await plane.control.refresh()
  const patched = await plane.call('admin', 'PATCH', `${base}/apis/${world.api}`, { auth_required: false })
  expect(patched.status, JSON.stringify(patched.body)).toBe(200)
  await plane.control.refresh()
  const { resources } = await read('platform')
  expect(resources).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ kind: 'key', id: world.key, change: 'removed' }),
      { tenant_id: world.acme, kind: 'api', id: world.api, name: '/orders', change: 'changed' },
    ]),
  )
  expect(JSON.stringify(resources)).not.toContain(world.secret.slice(13))
})
