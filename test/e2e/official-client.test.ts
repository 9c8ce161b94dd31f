/** The official MCP client lists the example's tools and calls one that writes, over HTTP with a bearer token. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Deployment, deploy } from '../fixtures/deployment.ts'

let gateway: Deployment
beforeAll(async () => {
  gateway = await deploy()
})
afterAll(() => gateway.stop())

it.each(['/mcp/sse', '/mcp'])('connects at %s, lists the tools and creates a customer', async path => {
  const token = await gateway.token('demo-agent')
  const transport = new StreamableHTTPClientTransport(new URL(`${gateway.url}${path}`), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  })
  const client = new Client({ name: 'test', version: '1.0.0' })
  // the package's own types disagree under exactOptionalPropertyTypes
  await client.connect(transport as Parameters<Client['connect']>[0])
  expect(client.getServerVersion()).toMatchObject({ name: 'toolgate' })

  const { tools } = await client.listTools()
  expect(tools.length).toBeGreaterThanOrEqual(12)
  const writing = tools.find(
    tool => tool.annotations?.readOnlyHint !== true && tool.name.endsWith('createCustomer'),
  )
  expect(writing?.description).toBeTruthy()

  const created = await client.callTool({
    name: writing!.name,
    arguments: { name: 'Ada Lovelace', email: `ada-${Date.now()}${Math.random()}@example.com` },
  })
  expect(created.isError).toBe(false)
  expect(JSON.stringify(created.content)).toContain('Ada Lovelace')
  await transport.terminateSession()
  await client.close()
})
