/** Every operation of the matrix × every role of a tenant × {other tenant, none or one of the two suspended; own tenant, suspended}: nothing leaks. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Cluster } from '../store/postgres-cluster.ts'
import { MAY } from './expected-access.ts'
import {
  CALLERS,
  type Caller,
  type ForeignCaller,
  ONE_DATABASE,
  openPlane,
  type Plane,
  populate,
  type Reply,
  type World,
} from './plane.ts'
import { RECIPES, type Recipe } from './recipes.ts'

interface Operation {
  readonly id: string
  readonly action: string
  readonly method: string
  readonly path: string
}
type Served = {
  readonly paths: {
    readonly [path: string]: {
      readonly [method: string]: {
        readonly operationId: string
        readonly 'x-action': string
        readonly 'x-stream'?: boolean
        readonly security?: readonly object[]
      }
    }
  }
}

/** `stranger` and `metered` belong to other tenants. */
const ROLES = (Object.keys(CALLERS) as Caller[]).filter(name => !['stranger', 'metered'].includes(name))
const OF_ACME = ROLES.filter(name => CALLERS[name].tenant === 'acme')
const FOREIGN = OF_ACME.map((name): ForeignCaller => `globex:${name}`)

/** Some 700 calls each. One database: token and policy refuse before the store is asked, and `store.test.ts` checks its rules on both. */
const TIMEOUT_MS = 180_000

describe(`a tenant on ${ONE_DATABASE.name}`, { timeout: TIMEOUT_MS }, () => {
  describe('among others', () => {
    let plane: Plane
    let world: World
    let cluster: Cluster | undefined
    let operations: readonly Operation[]
    let cells = 0

    beforeAll(async () => {
      cluster = await ONE_DATABASE.start()
      plane = await openPlane({ cluster })
      world = await populate(plane)
      const { paths } = (await plane.call(null, 'GET', '/openapi.json')).body as Served
      operations = Object.entries(paths).flatMap(([path, methods]) =>
        Object.entries(methods)
          // what visitors see is for other tenants, too: `public-catalog.test.ts`
          .filter(([, operation]) => operation['x-stream'] !== true && operation.security?.length !== 0)
          .map(([method, operation]) => ({
            id: operation.operationId,
            action: operation['x-action'],
            method: method.toUpperCase(),
            path,
          })),
      )
    })
    afterAll(async () => {
      expect(plane?.faults).toEqual([])
      await plane?.close()
      await cluster?.stop()
    })

    async function withSuspended(tenant: string, run: () => Promise<void>): Promise<void> {
      const change = async (status: string) =>
        expect((await plane.call('platform', 'PATCH', `/v1/tenants/${tenant}`, { status })).status).toBe(200)
      await change('suspended')
      await run().finally(() => change('active'))
    }

    function call(by: Caller | ForeignCaller, { method, path }: Operation, recipe: Recipe): Promise<Reply> {
      cells++
      const params: Record<string, string> = { ...recipe.params, tenant_id: world.acme }
      const target = path.replace(/\{(\w+)\}/g, (_, name: string) => params[name]!)
      return plane.call(by, method, `/v1${target}`, recipe.body)
    }

    /** @returns one line if a caller of another tenant gets anything but a refusal or its own part */
    async function leakOf(
      by: Caller | ForeignCaller,
      operation: Operation,
      recipe: Recipe,
    ): Promise<string[]> {
      const reply = await call(by, operation, recipe)
      const text = JSON.stringify(reply.body)
      const shown = [world.acme, world.api, world.subscription, world.key, world.secret].filter(id =>
        text.includes(id),
      )
      const inTenant = operation.path.includes('{tenant_id}')
      const refused = reply.status === 403 && reply.body.error.code === 'forbidden'
      return shown.length > 0 || (inTenant && !refused)
        ? [`${by} ${operation.id}: ${reply.status} ${text}`]
        : []
    }

    /** A valid call of each operation; made while every tenant is active. */
    async function recipes(): Promise<(readonly [Operation, Recipe])[]> {
      const all: (readonly [Operation, Recipe])[] = []
      for (const operation of operations)
        all.push([operation, await RECIPES[operation.id]!(plane, world)] as const)
      return all
    }

    async function leaksWhile(suspended: string | undefined): Promise<string[]> {
      const leaks: string[] = []
      const all = await recipes()
      const run = async () => {
        for (const [operation, recipe] of all)
          for (const by of FOREIGN) leaks.push(...(await leakOf(by, operation, recipe)))
      }
      await (suspended === undefined ? run() : withSuspended(suspended, run))
      return leaks
    }

    it('covers every operation and role', () => {
      expect(operations.length).toBeGreaterThan(30)
      expect(operations.map(({ id }) => id).sort()).toEqual(Object.keys(RECIPES).sort())
      expect(OF_ACME).toEqual(expect.arrayContaining(['admin', 'devops', 'viewer', 'subscriber', 'portal']))
      expect(operations.filter(({ action }) => MAY[action] === undefined)).toEqual([])
    })

    it('finds a leak where there is one', async () => {
      const read = operations.find(({ id }) => id === 'readTenant')!
      expect(await leakOf('admin', read, await RECIPES.readTenant!(plane, world))).toHaveLength(1)
      cells = 0
    })

    it.each([
      ['active, like itself', undefined],
      ['suspended', 'globex'],
      ['active, while it is suspended itself', 'acme'],
    ] as const)('shows nothing to any role of another tenant that is %s', async (_, suspended) => {
      expect(await leaksWhile(suspended && world[suspended])).toEqual([])
    })

    it('can be read, and changed by none of its roles, while it is suspended', async () => {
      const wrong: string[] = []
      const all = await recipes()
      await withSuspended(world.acme, async () => {
        for (const [operation, recipe] of all)
          for (const by of OF_ACME) {
            const { status, body } = await call(by, operation, recipe)
            const may = MAY[operation.action]!.includes(by)
            const got = `${status} ${body?.error?.code ?? ''}`.trim()
            const allowed = operation.method === 'GET' ? ['200'] : ['403 tenant_suspended']
            const expected = may ? allowed : ['403 forbidden', '403 tenant_suspended']
            if (!expected.includes(got)) wrong.push(`${by} ${operation.id}: ${got}, not ${expected}`)
          }
      })
      expect(wrong).toEqual([])
      console.info(`${cells} combinations of operation, role and tenant`)
      expect(cells).toBe(operations.length * (3 * FOREIGN.length + OF_ACME.length))
    })
  })
})
