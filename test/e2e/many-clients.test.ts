/** Many official clients at once on one process, and none may be lost. 60 by default; MANY_CLIENTS=500 takes a minute; its pauses outlast idle connections. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type GatewayProcess, startGatewayProcess } from '../fixtures/gateway-process.ts'
import { clientToken } from '../fixtures/tokens.ts'

const COUNT = Number(process.env.MANY_CLIENTS ?? 60)
const isLong = COUNT > 60
const ROUNDS = isLong ? 4 : 2
/** Listeners close connections after about ten seconds without a request. */
const PAUSE_MS = isLong ? 12_000 : 300
/** Opened at once; more would overrun the listen queue. */
const AT_ONCE = 50

let gateway: GatewayProcess
let token: string
beforeAll(async () => {
  const many = '1000000'
  gateway = await startGatewayProcess({
    MAX_PER_IP: many,
    MAX_PER_TENANT: many,
    MAX_TOTAL: many,
    RATE_LIMIT_PER_MIN: many,
  })
  token = await clientToken(gateway.addresses.auth_url, 'demo-admin')
})
afterAll(() => gateway.stop())

it(`serves ${COUNT} clients without one lost connection`, { timeout: 60_000 + COUNT * 500 }, async () => {
  const lost: string[] = []
  const headers = { authorization: `Bearer ${token}` }
  const open = async (at: number): Promise<Client> => {
    const transport = new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp`), {
      requestInit: { headers },
    })
    const client = new Client({ name: `client-${at}`, version: '1' })
    client.onerror = error => void lost.push(`${at}: ${error.message}`)
    client.onclose = () => void lost.push(`${at}: closed`)
    await client.connect(transport as Parameters<Client['connect']>[0])
    return client
  }
  const clients: Client[] = []
  for (let from = 0; from < COUNT; from += AT_ONCE) {
    const batch = Array.from({ length: Math.min(AT_ONCE, COUNT - from) }, (_, at) => open(from + at))
    clients.push(...(await Promise.all(batch)))
  }
  for (let round = 0; round < ROUNDS; round++) {
    const results = await Promise.all(
      clients.map(client => client.callTool({ name: 'shop_getProduct', arguments: { productId: 'P-1008' } })),
    )
    expect(results.filter(({ isError }) => isError !== false)).toEqual([])
    await sleep(PAUSE_MS)
  }
  const lists = await Promise.all(clients.map(client => client.listTools()))
  expect(lists.every(({ tools }) => tools.length === 30)).toBe(true)
  expect(lost).toEqual([])
  for (const client of clients) client.onerror = client.onclose = () => undefined
  await Promise.all(clients.map(client => client.close()))
})
