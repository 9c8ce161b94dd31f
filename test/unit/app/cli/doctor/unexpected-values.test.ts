/** `toolgate doctor` against a server without a login whose responses have a value of an unexpected type in one place. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import type { ClientReport } from '../../../../../src/app/cli/doctor/examine.ts'
import { runToolgate } from '../../../../fixtures/command.ts'

let server: Server
afterEach(() => {
  server.closeAllConnections()
  server.close()
})

interface Results {
  /** In the order of the requests; the last one repeats. */
  readonly initialize: readonly unknown[]
  readonly tools: unknown
  readonly nextCursor?: string
}

const INITIALIZED = { protocolVersion: '2025-06-18', serverInfo: { name: 'shop', version: '1' } }
const TOOL = { name: 'list_orders', description: 'Lists orders.', inputSchema: { type: 'object' } }
const HEALTHY: Results = { initialize: [INITIALIZED], tools: [TOOL] }

async function examined({
  initialize,
  tools,
  nextCursor,
}: Results): Promise<{ code: number; report: ClientReport }> {
  let initialized = 0
  server = createServer(async (request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end()
    const { id, method } = JSON.parse((await request.toArray()).join('')) as { id?: number; method: string }
    if (id === undefined) return void response.writeHead(202).end()
    const result =
      method === 'tools/list'
        ? { tools, nextCursor }
        : initialize[Math.min(initialized++, initialize.length - 1)]
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ jsonrpc: '2.0', id, result }))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  const { code, out } = await runToolgate(['doctor', '--url', url, '--client', 'cursor', '--json'])
  return { code, report: (JSON.parse(out) as { clients: [ClientReport] }).clients[0] }
}

it('lets the client connect when all values have the expected types', async () => {
  expect(await examined(HEALTHY)).toMatchObject({ code: 0, report: { ok: true } })
})

it.each<[step: string, what: string, results: Partial<Results>, found: RegExp]>([
  ['initialize', 'a result that is null', { initialize: [INITIALIZED, null] }, /returned 200/],
  [
    'list',
    'an outputSchema that is null',
    { tools: [{ ...TOOL, outputSchema: null }] },
    /outputSchema of the tool list_orders/,
  ],
  [
    'list',
    'an inputSchema that is null',
    { tools: [{ ...TOOL, inputSchema: null }] },
    /inputSchema of the tool list_orders/,
  ],
  ['list', 'a list that does not end', { nextCursor: 'next' }, /does not end after 100 pages/],
  ['list', 'a tool that is null', { tools: [null] }, /no name/],
  [
    'reach',
    'a name that has no text',
    { initialize: [{ ...INITIALIZED, serverInfo: { name: { toString: null, valueOf: null } } }] },
    /cannot interpret a response from the server: TypeError/,
  ],
])('%s reports %s as a fault with a fix', async (step, _, results, found) => {
  const { code, report } = await examined({ ...HEALTHY, ...results })
  expect([code, report.failed]).toEqual([1, step])
  expect(report.steps.at(-1)).toMatchObject({
    status: 'failed',
    found: expect.stringMatching(found),
    fix: expect.stringMatching(/./),
  })
})
