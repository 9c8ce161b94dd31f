/** The requirements in the served OpenAPI document are those of the shipped policy, for every operation. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { controlPlaneDocument } from '../../../../src/control-plane/api/endpoints.ts'

type Rows = { readonly [action: string]: object }
const data = (name: string) => parse(readFileSync(`policies/toolgate/${name}/data.yaml`, 'utf8')) as unknown
const operations = data('operations') as Rows
const confined = data('confined') as { readonly [role: string]: { readonly [action: string]: string } }
const { paths } = controlPlaneDocument({ apiUrl: 'https://api.example', version: '1' }) as {
  readonly paths: { readonly [path: string]: Rows }
}

it.each(
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => [`${method} ${path}`, operation] as const),
  ),
)('of %s', (_, operation) => {
  const { 'x-action': action, 'x-requires': requires } = operation as {
    readonly 'x-action': string
    readonly 'x-requires': object
  }
  const grants = Object.entries(confined).flatMap(([role, granted]) =>
    granted[action] === undefined ? [] : [[role, granted[action]] as const],
  )
  expect(operations[action], action).toBeDefined()
  expect(requires).toEqual({
    ...operations[action],
    ...(grants.length === 0 ? {} : { confined: Object.fromEntries(grants) }),
  })
})
