/** A TypeScript client generated from the served document: its types accept a program whose calls succeed, and refuse a field that the document lacks. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import openapiTS, { astToString } from 'openapi-typescript'
import ts from 'typescript'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openPlane, type Plane, populate, type World } from './plane.ts'
import { type Served, serve } from './serve.ts'

/** A field with a preset may be absent from a request. */
const PRESETS = { defaultNonNullable: false }

/** All of the client but its types. */
const CLIENT = `
import type { paths } from './schema.ts'
type Json<T> = T extends { content: { 'application/json': infer B } } ? B : undefined
type Success<O> = O extends { responses: infer R } ? Json<R[keyof R & (200 | 201 | 202 | 204)]> : never
type Body<O> = O extends { requestBody: { content: { 'application/json': infer B } } } ? { body: B } : {}
type Path<O> = O extends { parameters: { path: infer P } } ? { path: P } : {}
export function clientOf(base: string, token: string) {
  return async <P extends keyof paths, M extends keyof paths[P] & ('get' | 'post' | 'patch' | 'delete')>(
    method: M, path: P, parts: Path<paths[P][M]> & Body<paths[P][M]>,
  ): Promise<Success<paths[P][M]>> => {
    const { path: values = {}, body } = parts as { path?: Record<string, string>; body?: unknown }
    const url = base + path.replace(/\\{(\\w+)\\}/g, (_, name: string) => encodeURIComponent(values[name]!))
    const headers = { authorization: 'Bearer ' + token, 'content-type': 'application/json' }
    const init = { method: method.toUpperCase(), headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
    const response = await fetch(url, init)
    const text = await response.text()
    if (!response.ok) throw new Error(path + ': ' + response.status + ' ' + text)
    return (text === '' ? undefined : JSON.parse(text)) as Success<paths[P][M]>
  }
}
`
/** A version replaces another one. */
const PROGRAM = `
import { clientOf } from './client.ts'
export async function run(base: string, token: string, tenant_id: string) {
  const call = clientOf(base, token)
  const api = async (version: string) => {
    const body = { name: 'Typed', path: '/typed', version, upstream_url: 'http://127.0.0.1:9', versioning: { by: 'header' as const } }
    return call('post', '/tenants/{tenant_id}/apis', { path: { tenant_id }, body })
  }
  const [old, next] = [await api('v1'), await api('v2')]
  const request = { api_id: old.id, plan: 'gold', application: 'typed' }
  const { id: subscription_id } = await call('post', '/tenants/{tenant_id}/subscriptions', { path: { tenant_id }, body: request })
  const api_id = old.id
  const deprecated = await call('patch', '/tenants/{tenant_id}/apis/{api_id}', {
    path: { tenant_id, api_id },
    body: { status: 'deprecated', deprecation: { sunset_at: '2099-01-01T00:00:00Z', after_sunset: 'refuse' } },
  })
  const moved = await call('post', '/tenants/{tenant_id}/apis/{api_id}/migrate', { path: { tenant_id, api_id }, body: { to_api_id: next.id } })
  const subscription = await call('get', '/tenants/{tenant_id}/subscriptions/{subscription_id}', { path: { tenant_id, subscription_id } })
  const sunset: string | null = deprecated.deprecation!.sunset_at
  return { sunset, migrated: moved.migrated, follows: subscription.api_id === next.id, state: subscription.status }
}
`

let folder: string
let plane: Plane
let world: World
let served: Served

beforeAll(async () => {
  // within the repository, where the compiler finds the types of node
  folder = mkdtempSync(join(import.meta.dirname, '../../../node_modules/.typed-client-'))
  plane = await openPlane()
  world = await populate(plane)
  served = await serve(plane.control)
  const document = await (await fetch(`${served.url}/openapi.json`)).text()
  writeFileSync(join(folder, 'schema.ts'), astToString(await openapiTS(document, PRESETS)))
  writeFileSync(join(folder, 'client.ts'), CLIENT)
})
afterAll(async () => {
  await served?.close()
  await plane?.close()
  rmSync(folder, { recursive: true, force: true })
})

function faultsOf(program: string): string[] {
  const file = join(folder, 'program.ts')
  writeFileSync(file, program)
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true,
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2023,
    types: ['node'],
  }
  const compiled = ts.createProgram([file], options)
  return ts
    .getPreEmitDiagnostics(compiled)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))
}

it('compiles, runs, and refuses a field that the document does not have', { timeout: 120_000 }, async () => {
  expect(faultsOf(PROGRAM)).toEqual([])
  const { run } = (await import(join(folder, 'program.ts'))) as {
    run: (...args: string[]) => Promise<unknown>
  }
  expect(await run(`${served.url}/v1`, 'platform', world.acme)).toEqual({
    sunset: '2099-01-01T00:00:00.000Z',
    migrated: 1,
    follows: true,
    state: 'pending_approval',
  })
  expect(faultsOf(PROGRAM.replace('to_api_id:', 'to_api:'))).toEqual([expect.stringContaining("'to_api'")])
})
