/** Lists of an MCP server with as many entries as the gateway reads, and with more, which fail with the reason. */
import { afterEach, expect, it } from 'vitest'
import { connect } from '../../../../src/mcp/client/connect.ts'
import { listPages } from '../../../../src/mcp/client/list-pages.ts'
import { createEgress } from '../../../../src/net/egress/client.ts'
import { result, type ScriptedServer, startScriptedServer } from '../../../fixtures/scripted-mcp-server.ts'

const OPTIONS = {
  timeoutMs: 20_000,
  maxResponseBytes: 4_000_000,
  maxEventCharacters: 4_000_000,
  maxParseNs: 1_000_000_000,
}

let server: ScriptedServer | undefined
afterEach(async () => {
  await server?.close()
})

async function listed(pages: readonly number[]): Promise<unknown> {
  server = await startScriptedServer(({ id, method, params }, response) => {
    if (method !== 'tools/list') return undefined
    const page = Number(params.cursor ?? 0)
    const more = page + 1 < pages.length ? { nextCursor: String(page + 1) } : {}
    return result(response, id, { tools: Array.from({ length: pages[page]! }, () => 0), ...more })
  })
  const egress = createEgress({ allow: [], allowLoopback: true })
  const client = { name: 'test', version: '1' }
  const address = { url: server.url, transport: 'streamable', headers: [] } as const
  const connected = await connect(address, { egress, client, ...OPTIONS })
  if (connected.kind !== 'connected') throw new Error(JSON.stringify(connected))
  const found = await listPages(connected.connection, { method: 'tools/list', field: 'tools' }, OPTIONS)
  await connected.connection.close()
  await egress.close()
  return 'kind' in found ? found : found.length
}

it.each([[[10_000]], [[4_000, 0, 6_000]]])('pages of %j entries are read', async pages => {
  expect(await listed(pages)).toBe(10_000)
})

it.each([[[10_001]], [[6_000, 4_001]], [[500_000]], [[1, 500_000]]])(
  'pages of %j entries are too many',
  async pages => {
    expect(await listed(pages)).toMatchObject({ kind: 'failure', reason: 'too_large' })
  },
)
