/** Documents of APIs that take long to compile: what is published meanwhile, and in which order tenants have their turn. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Api } from '../../../src/model/api.ts'
import type { Cluster } from '../store/postgres-cluster.ts'
import { DATABASES, openPlane, type Plane, populate, type World } from './plane.ts'

const SPEC = { openapi: '3.1.0', info: { title: 'T', version: '1' }, paths: {} }

describe.each(DATABASES)('documents on $name', database => {
  describe.skipIf(database.skip)('that compile', () => {
    let plane: Plane
    let world: World
    let cluster: Cluster | undefined
    /** The compilations that wait, in their order. */
    const waiting: { readonly api: Api; end(result: 'compiled' | 'failed'): void }[] = []

    const toolsOf = (api: Api) =>
      new Promise<{ tools: never[]; degraded: null }>((resolve, reject) => {
        waiting.push({
          api,
          end(result) {
            waiting.shift()
            if (result === 'failed') reject(new Error('it failed'))
            else
              resolve({
                tools: [{ name: `tool_of_${api.name}`, revision: api.revision }] as never[],
                degraded: null,
              })
          },
        })
      })

    beforeAll(async () => {
      cluster = await database.start()
      plane = await openPlane({ cluster, options: { toolsOf } })
      world = await populate(plane)
      await plane.control.refresh()
    })
    afterAll(async () => {
      await plane?.close()
      await cluster?.stop()
    })

    const tenant = (id: string) => plane.control.publisher.share.tenants.get(id)!
    const add = async (caller: 'admin' | 'globex:admin', name: string) => {
      const id = caller === 'admin' ? world.acme : world.globex
      const body = { name, path: `/${name}`, upstream_url: 'http://127.0.0.1:9', spec: SPEC, type: 'http' }
      const { status, body: made } = await plane.call(caller, 'POST', `/v1/tenants/${id}/apis`, body)
      expect([status, made.errors]).toEqual([201, undefined])
      await plane.control.refresh()
      return made.id as string
    }
    const compiles = (name: string) => expect.poll(() => waiting[0]?.api.name, { timeout: 15_000 }).toBe(name)
    const names = (id: string) => tenant(id).tools.map(({ name }) => name)

    it('delay neither a change of another tenant nor one of the same tenant', async () => {
      const slow = await add('admin', 'slow')
      await compiles('slow')
      expect(tenant(world.acme).apis.map(({ path }) => path)).toContain('/slow')
      const other = await add('globex:admin', 'other')
      expect(tenant(world.globex).apis.map(({ id }) => id)).toContain(other)
      expect([names(world.acme), names(world.globex)]).toEqual([[], []])
      const shown = await plane.call('admin', 'GET', `/v1/tenants/${world.acme}/apis/${slow}`)
      expect(shown.body.spec_status.state).toBe('pending')

      waiting[0]!.end('compiled')
      await compiles('other')
      await expect.poll(() => names(world.acme), { timeout: 15_000 }).toEqual(['tool_of_slow'])
      waiting[0]!.end('compiled')
      await expect.poll(() => names(world.globex), { timeout: 15_000 }).toEqual(['tool_of_other'])
      expect(plane.faults).toEqual([])
    })

    it('have their turn by tenant, however many one tenant has', async () => {
      for (const name of ['many-1', 'many-2', 'many-3']) await add('admin', name)
      await add('globex:admin', 'single')
      const order: string[] = []
      for (let i = 0; i < 4; i++) {
        await expect.poll(() => waiting.length, { timeout: 15_000 }).toBe(1)
        order.push(waiting[0]!.api.name)
        waiting[0]!.end('compiled')
      }
      expect(order).toEqual(['many-1', 'single', 'many-2', 'many-3'])
      await expect.poll(() => names(world.acme).length, { timeout: 15_000 }).toBe(4)
    })

    it('keep the tools of the document before, and are compiled again when that failed', async () => {
      const id = await add('admin', 'again')
      await compiles('again')
      waiting[0]!.end('compiled')
      await expect.poll(() => names(world.acme), { timeout: 15_000 }).toContain('tool_of_again')
      await plane.call('admin', 'PATCH', `/v1/tenants/${world.acme}/apis/${id}`, {
        spec: { ...SPEC, tags: [] },
      })
      await compiles('again')
      waiting[0]!.end('failed')
      await expect.poll(() => plane.faults.length, { timeout: 15_000 }).toBe(1)
      plane.faults.splice(0)
      const shown = await plane.call('admin', 'GET', `/v1/tenants/${world.acme}/apis/${id}`)
      expect(shown.body.spec_status).toMatchObject({ state: 'error', tools: 1, message: 'it failed' })
      expect(names(world.acme)).toContain('tool_of_again')
      await compiles('again')
      waiting[0]!.end('compiled')
      await expect
        .poll(() => tenant(world.acme).tools.find(({ name }) => name === 'tool_of_again'), {
          timeout: 15_000,
        })
        .toMatchObject({ revision: 2 })
    })

    it('of an API that was deleted meanwhile add no tools', async () => {
      const id = await add('admin', 'gone')
      await compiles('gone')
      await plane.call('admin', 'DELETE', `/v1/tenants/${world.acme}/apis/${id}`)
      await plane.control.refresh()
      waiting[0]!.end('compiled')
      await add('globex:admin', 'last')
      await compiles('last')
      waiting[0]!.end('compiled')
      await expect.poll(() => names(world.globex), { timeout: 15_000 }).toContain('tool_of_last')
      expect(names(world.acme)).not.toContain('tool_of_gone')
    })
  })
})
