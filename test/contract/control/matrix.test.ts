/** Operations of the document, without streams and visitors, × {valid, repeated, invalid field, token, role, other or suspended tenant, unknown id}. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { controlPlaneDocument } from '../../../src/control-plane/api/endpoints.ts'
import type { Cluster } from '../store/postgres-cluster.ts'
import { MAY } from './expected-access.ts'
import { breakages, resolve, type Schema } from './invalid-values.ts'
import {
  CALLERS,
  type Caller,
  DATABASES,
  ONE_DATABASE,
  openPlane,
  type Plane,
  populate,
  type Reply,
  type World,
} from './plane.ts'
import { RECIPES } from './recipes.ts'

interface Operation {
  readonly operationId: string
  readonly 'x-action': string
  readonly 'x-stream'?: boolean
  readonly security?: readonly object[]
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly schema: Schema }[]
  readonly requestBody?: {
    readonly required?: boolean
    readonly content: { readonly 'application/json': { readonly schema: Schema } }
  }
  readonly responses: {
    readonly [status: string]: {
      readonly content?: { readonly 'application/json'?: { readonly schema: Schema } }
    }
  }
}
type Document = {
  readonly paths: { readonly [path: string]: { readonly [method: string]: Operation } }
  readonly components: { readonly schemas: { readonly [name: string]: Schema } }
}

const INFO = { apiUrl: 'https://api.example', version: '0.1.0' }
const document = controlPlaneDocument(INFO) as Document
const { schemas } = document.components
const OPERATIONS = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods)
    // `public-catalog.test.ts` has those that visitors call
    .filter(([, operation]) => operation['x-stream'] !== true && operation.security?.length !== 0)
    .map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
)
const ajv = new Ajv2020({ strict: false, validateFormats: false })
ajv.addSchema({ $id: 'doc', components: document.components })

/** Replies of machines; and what acts after its transaction, whose outcome is not known when a response would be stored. */
const WITHOUT_IDEMPOTENCY_KEY = [
  ...['reportGateway', 'replyToQuestion'],
  ...['checkPolicyDraft', 'shadowPolicyDraft', 'promotePolicyCandidate', 'rollBackPolicy'],
]

/** The check of a schema by its text: compiling it takes longer than the request. */
const checks = new Map<string, ValidateFunction>()

function checkOf(schema: object): ValidateFunction {
  const text = JSON.stringify(schema).replaceAll('#/components', 'doc#/components')
  let check = checks.get(text)
  if (check === undefined) {
    check = ajv.compile(JSON.parse(text))
    checks.set(text, check)
  }
  return check
}

/** Checks that the document declares the response: its status, and the shape of its body. */
function expectDeclared(operation: Operation, reply: Reply): void {
  const declared = operation.responses[reply.status]
  expect(Object.keys(operation.responses)).toContain(String(reply.status))
  const [[mediaType, { schema }] = ['', { schema: undefined }]] = Object.entries(declared!.content ?? {})
  if (schema === undefined) expect(reply.body).toBe('')
  else if (mediaType !== 'application/json') expect(reply.headers.get('content-type')).toBe(mediaType)
  else {
    const validate = checkOf(schema)
    expect(validate(reply.body), JSON.stringify(validate.errors)).toBe(true)
  }
}

function expectProblem(reply: Reply, status: number, code: string): void {
  expect([reply.status, reply.body?.error?.code]).toEqual([status, code])
  expect(Object.keys(reply.body)).toEqual(['error'])
  expect(Object.keys(reply.body.error)).toEqual(['code', 'message', 'details'])
  expect(reply.body.error.message).not.toBe('')
}

/** `stranger` and `metered` belong to other tenants. */
const ROLES = (Object.keys(CALLERS) as Caller[]).filter(name => !['stranger', 'metered'].includes(name))

describe.each(DATABASES)('operations on $name', database => {
  describe.skipIf(database.skip)('as the document declares them', () => {
    let plane: Plane
    let world: World
    let cluster: Cluster | undefined

    beforeAll(async () => {
      cluster = await database.start()
      plane = await openPlane({ cluster })
      world = await populate(plane)
    })
    afterAll(async () => {
      expect(plane?.faults).toEqual([])
      await plane?.close()
      await cluster?.stop()
    })

    it('are those that the served document lists', async () => {
      expect((await plane.call(null, 'GET', '/openapi.json')).body).toEqual(
        JSON.parse(JSON.stringify(document)),
      )
      expect(OPERATIONS.map(each => each.operation.operationId).sort()).toEqual(Object.keys(RECIPES).sort())
    })

    describe.each(OPERATIONS)('$method $path', ({ path, method, operation }) => {
      const mayDo = MAY[operation['x-action']]
      const inTenant = path.includes('{tenant_id}')

      async function prepare() {
        const recipe = await RECIPES[operation.operationId]!(plane, world)
        // What changes or deletes a tenant gets a separate one: the other tests use acme.
        const own = path === '/tenants/{tenant_id}' && method !== 'GET' ? await aTenant() : world.acme
        return { recipe, tenant: own }
      }

      /** A call that is refused and one that reads change nothing: all of them are made for the same resources. */
      let unchanged: ReturnType<typeof prepare> | undefined
      const prepareUnchanged = () => {
        unchanged ??= prepare()
        return unchanged
      }

      async function aTenant(): Promise<string> {
        const name = `spare-${Math.random().toString(36).slice(2)}`
        return (await plane.call('platform', 'POST', '/v1/tenants', { name, tier: 'enterprise' })).body.id
      }

      function address(params: { readonly [name: string]: string } = {}, tenant = world.acme): string {
        return `/v1${path.replace(/\{(\w+)\}/g, (_, name: string) => (name === 'tenant_id' ? tenant : params[name]!))}`
      }

      it('responds to a valid call as declared, and to its repetition', async () => {
        const { recipe, tenant } = await prepare()
        const call = () => plane.call('platform', method, address(recipe.params, tenant), recipe.body)
        const first = await call()
        expect(first.status, JSON.stringify(first.body)).toBeLessThan(300)
        expectDeclared(operation, first)
        const second = await call()
        expect(second.status).toBe(recipe.repeated)
        expectDeclared(operation, second)
      })

      if (method === 'POST' && !WITHOUT_IDEMPOTENCY_KEY.includes(operation.operationId))
        it('repeats the first response for the same Idempotency-Key, and refuses another body', async () => {
          const { recipe, tenant } = await prepare()
          const key = { 'idempotency-key': `key-${Math.random()}` }
          const target = address(recipe.params, tenant)
          const first = await plane.call('platform', 'POST', target, recipe.body, key)
          expect(first.status, JSON.stringify(first.body)).toBeLessThan(300)
          const again = await plane.call('platform', 'POST', target, recipe.body, key)
          expect([again.status, again.body]).toEqual([first.status, first.body])
          expect(again.headers.get('idempotency-replayed')).toBe('true')
          if (recipe.body === undefined) return
          const other = `${JSON.stringify(recipe.body)} `
          expectProblem(await plane.call('platform', 'POST', target, other, key), 409, 'conflict')
        })

      if (method === 'PATCH')
        it('heeds If-Match', async () => {
          const { recipe, tenant } = await prepare()
          const target = address(recipe.params, tenant)
          const etag = (await plane.call('platform', 'GET', target)).headers.get('etag')!
          expect(etag).toMatch(/^"\d+"$/)
          const weak = await plane.call('platform', method, target, recipe.body, { 'if-match': `W/${etag}` })
          expectProblem(weak, 412, 'precondition_failed')
          const fresh = await plane.call('platform', method, target, recipe.body, {
            'if-match': `"x", ${etag}`,
          })
          expect(fresh.status).toBe(200)
          expect(fresh.headers.get('etag')).not.toBe(etag)
          const stale = await plane.call('platform', method, target, recipe.body, { 'if-match': etag })
          expectProblem(stale, 412, 'precondition_failed')
        })

      if (method === 'DELETE' && OPERATIONS.some(other => other.method === 'PATCH' && other.path === path))
        it('heeds If-Match', async () => {
          const { recipe, tenant } = await prepare()
          const target = address(recipe.params, tenant)
          const etag = (await plane.call('platform', 'GET', target)).headers.get('etag')!
          const remove = (tag: string) =>
            plane.call('platform', method, target, recipe.body, { 'if-match': tag })
          for (const stale of [`W/${etag}`, '"0"', 'x'])
            expectProblem(await remove(stale), 412, 'precondition_failed')
          expect((await plane.call('platform', 'GET', target)).headers.get('etag')).toBe(etag)
          expect((await remove(`"x", ${etag}`)).status).toBe(204)
        })

      if (inTenant)
        it('responds with 404 for an unknown tenant to a caller who may cross tenants', async () => {
          const { recipe } = await prepareUnchanged()
          for (const tenant of ['nowhere', 'ten_01kaa3b8w5f0gvm2f7z2q9x4td', '%00', '%F0%9F%92%A9']) {
            const reply = await plane.call('platform', method, address(recipe.params, tenant), recipe.body)
            expectProblem(reply, 404, 'not_found')
          }
        })

      it('is refused as tenant_suspended when it writes for a suspended tenant, and works when it reads', async () => {
        const { recipe, tenant } = await prepareUnchanged()
        const caller = (['admin', 'devops', 'auditor'] as const).find(each => mayDo!.includes(each))
        const suspend = (status: string) =>
          plane.call('platform', 'PATCH', `/v1/tenants/${world.acme}`, { status })
        expect((await suspend('suspended')).status).toBe(200)
        try {
          if (caller !== undefined) {
            const reply = await plane.call(caller, method, address(recipe.params, tenant), recipe.body)
            if (method === 'GET') expect(reply.status, JSON.stringify(reply.body)).toBe(200)
            else expectProblem(reply, 403, 'tenant_suspended')
          }
          if (method !== 'GET' && inTenant && !operation['x-action'].startsWith('control.tenants.')) {
            const reply = await plane.call('platform', method, address(recipe.params, tenant), recipe.body)
            expectProblem(reply, 403, 'tenant_suspended')
          }
        } finally {
          expect((await suspend('active')).status).toBe(200)
        }
      })

      it('reveals nothing of a tenant to another one', async () => {
        const { recipe, tenant } = await (inTenant ? prepareUnchanged() : prepare())
        const reply = await plane.call('stranger', method, address(recipe.params, tenant), recipe.body)
        const text = JSON.stringify(reply.body)
        for (const id of [world.acme, world.api, world.subscription, world.key, world.secret])
          expect(text).not.toContain(id)
      })

      const idParam = /\{(?!tenant_id)(\w+)\}/.exec(path)?.[1]
      if (idParam !== undefined)
        it('responds with 404 for an unknown id', async () => {
          const { recipe } = await prepareUnchanged()
          for (const id of ['nothing', 'api_01kaa3b8w5f0gvm2f7z2q9x4td', '%00', 'x'.repeat(500), "'%3B--"]) {
            const reply = await plane.call('platform', method, address({ [idParam!]: id }), recipe.body)
            expectProblem(reply, 404, 'not_found')
          }
        })

      // token, policy and values are checked before the store is asked: once is enough
      if (database !== ONE_DATABASE) return

      it.each([
        ['is missing', null],
        ['has expired', 'expired'],
        ['is forged', 'forged'],
      ])('responds with 401 when the token %s', async (_how, token) => {
        const reply = await plane.call(
          token as Caller | null,
          method,
          address({}, 'x').replaceAll('undefined', 'x'),
        )
        expectProblem(reply, 401, 'unauthorized')
        expect(reply.headers.get('www-authenticate')).toMatch(/^Bearer /)
      })

      it('stands in the documented table', () => {
        expect(mayDo, `${operation['x-action']} is missing in expected-access.ts`).toBeDefined()
      })

      it.each(ROLES.filter(caller => mayDo?.includes(caller)))('lets %s do it', async caller => {
        const { recipe, tenant } = await (method === 'GET' ? prepareUnchanged() : prepare())
        const reply = await plane.call(caller, method, address(recipe.params, tenant), recipe.body)
        expect(reply.status, JSON.stringify(reply.body)).toBeLessThan(300)
      })

      it('is forbidden to every other role', async () => {
        const { recipe, tenant } = await prepareUnchanged()
        for (const caller of ROLES.filter(each => !mayDo!.includes(each))) {
          const reply = await plane.call(caller, method, address(recipe.params, tenant), recipe.body)
          expect([caller, reply.status]).toEqual([caller, 403])
          expectProblem(reply, 403, 'forbidden')
        }
      })

      if (inTenant)
        it('responds with 403 to another tenant, whether or not the resource exists', async () => {
          const { recipe, tenant } = await prepareUnchanged()
          const unknown = Object.fromEntries(Object.keys(recipe.params ?? {}).map(name => [name, 'nothing']))
          for (const target of [
            address(recipe.params, tenant),
            address(unknown, tenant),
            address(recipe.params, 'nowhere'),
            address(recipe.params, '%00'),
          ]) {
            expectProblem(await plane.call('stranger', method, target, recipe.body), 403, 'forbidden')
          }
        })

      const queries = (operation.parameters ?? []).filter(parameter => parameter.in === 'query')
      if (queries.length > 0)
        it('names each query parameter that is not valid', async () => {
          const { recipe, tenant } = await prepareUnchanged()
          for (const { name, schema } of queries) {
            const isNumber = schema.type === 'integer'
            const values = isNumber ? ['-1', '1.5', 'x', '1e3', ''] : []
            if (isNumber) values.push(String(schema.minimum! - 1), String(schema.maximum! + 1))
            if (schema.type === 'boolean') values.push('maybe', '1', '')
            if (schema.enum !== undefined) values.push('no-such-word')
            if (schema.maxLength !== undefined) values.push('x'.repeat(schema.maxLength + 1))
            if (schema.type === 'string' && schema.enum === undefined) values.push('%00')
            expect(values.length).toBeGreaterThan(0)
            for (const value of values) {
              const target = `${address(recipe.params, tenant)}?${name}=${value}`
              const reply = await plane.call('platform', method, target, recipe.body)
              expectProblem(reply, 400, 'validation_error')
              expect(reply.body.error.details.map((fault: { field: string }) => fault.field)).toEqual([name])
            }
          }
        })

      const bodySchema = operation.requestBody?.content['application/json'].schema
      if (bodySchema !== undefined)
        describe('with a body', () => {
          const resolved = resolve(bodySchema, schemas)
          const cases = breakages(resolved, schemas)

          it.each(Object.keys(resolved.properties ?? {}))(
            'names the field %s when it is not valid',
            async name => {
              const { recipe, tenant } = await prepareUnchanged()
              const own = cases.filter(each => each.path[0] === name)
              expect(own.length).toBeGreaterThan(1)
              for (const { path: at, field, value } of own) {
                const body = structuredClone(recipe.body) as Record<string, unknown>
                let place: Record<string, unknown> = body
                for (const step of at.slice(0, -1)) {
                  place[step] ??= {}
                  place = place[step] as Record<string, unknown>
                }
                place[at.at(-1)!] = value
                const reply = await plane.call('platform', method, address(recipe.params, tenant), body)
                expect(reply.status, `${field} = ${JSON.stringify(value)}`).toBe(400)
                const named = reply.body.error.details.map((fault: { field: string }) => fault.field)
                expect(named.every((each: string) => each === field || each.startsWith(`${field}[`))).toBe(
                  true,
                )
              }
            },
          )

          it('names each required field that is missing', async () => {
            const { recipe, tenant } = await prepareUnchanged()
            for (const name of resolved.required ?? []) {
              const { [name]: _left, ...body } = recipe.body as Record<string, unknown>
              const reply = await plane.call('platform', method, address(recipe.params, tenant), body)
              expectProblem(reply, 400, 'validation_error')
              expect(reply.body.error.details).toEqual([{ field: name, message: 'is required.' }])
            }
          })

          it('refuses an unknown field and a read-only one', async () => {
            const { recipe, tenant } = await prepareUnchanged()
            const body = { ...(recipe.body as object), unheard_of: 1, created_at: '2026-01-01T00:00:00Z' }
            const reply = await plane.call('platform', method, address(recipe.params, tenant), body)
            expectProblem(reply, 400, 'validation_error')
            const named = reply.body.error.details.map((fault: { field: string }) => fault.field)
            expect(named.sort()).toEqual(['created_at', 'unheard_of'])
          })

          it('refuses a body that is not JSON, not an object, or of another media type', async () => {
            const { recipe, tenant } = await prepareUnchanged()
            const target = address(recipe.params, tenant)
            for (const body of ['{"a":', '[]', '"text"', 'null', '7', '{"a":1}{"b":2}']) {
              const reply = await plane.call('platform', method, target, body)
              expectProblem(reply, 400, 'validation_error')
            }
            const xml = await plane.call('platform', method, target, '<a/>', { 'content-type': 'text/xml' })
            expectProblem(xml, 415, 'unsupported_media_type')
            const huge = await plane.call('platform', method, target, `"${'x'.repeat(1024 * 1024)}"`)
            expectProblem(huge, 413, 'payload_too_large')
          })
        })
    })
  })
})
