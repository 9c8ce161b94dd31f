/** An MCP server behind the fault proxy: its tools stay listed, its calls fail with the right status, and none is executed twice or lost after a result. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { startMcpServer } from '../fixtures/mcp-server.ts'
import { startFaultProxy } from './fault-proxy.ts'
import { runTable } from './run-table.ts'
import { fetchIn, prepareSubject } from './subject.ts'
import { MCP_SERVER } from './tables/mcp-server.ts'
import { breakProxy, type Called, type World } from './world.ts'

async function open(): Promise<World> {
  const server = await startMcpServer()
  const proxy = await startFaultProxy(server.url)
  const subject = await prepareSubject()
  const toolSet = {
    apiVersion: 'toolgate.dev/v1alpha1',
    kind: 'ToolSet',
    metadata: { name: 'tools', namespace: 'tenant-acme' },
    spec: {
      displayName: 'Tools',
      source: { mcp: { url: `http://127.0.0.1:${proxy.port}/mcp` } },
      toolDefaults: { timeout: '2s' },
      naming: { prefix: 'mcp_' },
    },
  }
  writeFileSync(join(subject.root, 'toolsets', 'tools.json'), JSON.stringify(toolSet))
  const callTool = (name: string, args: object): Promise<Called> =>
    fetchIn(`${subject.url}/mcp/tools/call`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${subject.token}` },
      body: JSON.stringify({ name, arguments: args }),
    })
  let calls = 0
  const withResult = new Set<string>()
  return {
    subject: subject.process,
    dependency: breakProxy(proxy),
    // the time-out of the tool, and a busy machine
    maxCallMs: 4_000,
    async call() {
      const text = `call ${++calls}`
      const called = await callTool('mcp_echo', { text })
      if (called.status === 200) withResult.add(text)
      return called
    },
    longCall: () => callTool('mcp_slow', { steps: 14 }),
    isFine: ({ status }) => status === 200,
    see: () => subject.see('mcp'),
    async begin() {
      withResult.clear()
      server.calls.length = 0
    },
    async enter({ moment }) {
      // the stream of notifications is opened again while the fault lasts
      if (moment === 'subscribing') proxy.reset()
      return async () => {}
    },
    async verify() {
      expect((await subject.listTools()).text, 'the tools').toContain('"mcp_echo"')
      expect(new Set(server.calls).size, 'calls that the server executed, each once').toBe(
        server.calls.length,
      )
      expect(
        [...withResult].filter(text => !server.calls.includes(text)),
        'results without a call',
      ).toEqual([])
    },
    async close() {
      await subject.close()
      await proxy.close()
      await server.close()
    },
  }
}

runTable(MCP_SERVER, { open })
