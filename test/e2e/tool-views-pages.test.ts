/** Lists of more than one page on the wire: by name, in the order of a ToolView, after the search tools. Each page continues where the one before ended. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { PAGE_SIZE } from '../../src/data-plane/http/mcp/pagination.ts'
import { type Deployment, deploy, rpc } from '../fixtures/deployment.ts'

const COUNT = 1_100
const toolsets = mkdtempSync(join(tmpdir(), 'view-pages-'))
let gateway: Deployment
let admin: string

const resource = (kind: string, name: string, spec: object): string =>
  JSON.stringify({
    apiVersion: 'toolgate.dev/v1alpha1',
    kind,
    metadata: { name, namespace: 'platform' },
    spec,
  })

function toolSet(name: string, count: number, rest: object): void {
  const paths = Object.fromEntries(
    Array.from({ length: count }, (_, at) => {
      const operationId = `${name}_${String(at).padStart(4, '0')}`
      return [`/${operationId}`, { get: { operationId, responses: { 200: { description: 'ok' } } } }]
    }),
  )
  const document = { openapi: '3.1.0', info: { title: name, version: '1' }, paths }
  const spec = {
    displayName: name,
    baseURL: 'http://127.0.0.1:9',
    openAPISpec: { inline: JSON.stringify(document) },
    ...rest,
  }
  writeFileSync(join(toolsets, `${name}.json`), resource('ToolSet', name, spec))
}

beforeAll(async () => {
  toolSet('many', COUNT, {})
  toolSet('few', 2, { listing: 'search' })
  // the first page ends with a tool that other tools of the list sort before
  const order = ['many_1099', 'many_1098', 'many_0700']
  const views = [
    resource('ToolView', 'ordered', { select: { toolSets: ['many'] }, order }),
    resource('ToolView', 'searched', { select: {}, order }),
    resource('ToolView', 'renamed', {
      select: { toolSets: ['many'] },
      tools: [{ tool: 'many_0499', name: 'a_first' }],
    }),
  ]
  for (const [at, view] of views.entries()) writeFileSync(join(toolsets, `view-${at}.json`), view)
  gateway = await deploy({ TOOLSETS: toolsets })
  admin = await gateway.token('demo-admin')
}, 120_000)
afterAll(async () => {
  await gateway?.stop()
  rmSync(toolsets, { recursive: true, force: true })
})

it.each([
  ['/mcp', ['call_tool'], COUNT],
  ['/mcp/ordered', ['many_1099', 'many_1098', 'many_0700', 'many_0000'], COUNT],
  ['/mcp/searched', ['find_tools', 'describe_tools', 'call_tool', 'many_1099'], COUNT],
  ['/mcp/renamed', ['a_first', 'many_0000'], COUNT],
])('lists every tool once at %s', async (path, first, count) => {
  const names: string[] = []
  let cursor: string | undefined
  const sizes: number[] = []
  do {
    const request = rpc('tools/list', cursor === undefined ? {} : { cursor })
    const { json } = await gateway.post(path, request, admin, { 'mcp-protocol-version': '2025-11-25' })
    names.push(...json.result.tools.map(({ name }: { name: string }) => name))
    sizes.push(json.result.tools.length)
    cursor = json.result.nextCursor
  } while (cursor !== undefined && sizes.length < 10)
  expect(sizes).toEqual([PAGE_SIZE, PAGE_SIZE, names.length - 2 * PAGE_SIZE])
  const isTool = (name: string): boolean => /^many_|^a_first$/.test(name)
  expect(new Set(names).size).toBe(names.length)
  expect(names.filter(isTool)).toHaveLength(count)
  expect(names.slice(0, first.length)).toEqual(first)
})
