/** A ToolSet of an MCP server: its life, for every source. The compiler of its list is tested in test/unit/catalog. */
import { expect, it } from 'vitest'
import { result, startScriptedServer } from '../../fixtures/scripted-mcp-server.ts'
import { eventually, namesOf, phaseOf, type SourceWorld } from './source-world.ts'

/** @param opened the world of the suite that this is part of */
export function sourceMcp(opened: () => SourceWorld): void {
  it('an MCP server is listed, compared and stored like a document', async () => {
    const world = opened()
    let tools = [tool('mcp-a', 'Reads.'), tool('mcp-b', 'Writes.')]
    const script: Parameters<typeof startScriptedServer>[0] = ({ method, id }, response) =>
      method === 'tools/list' ? result(response, id, { tools }) : undefined
    const server = await startScriptedServer(script)
    const mcp = { url: server.url, refreshInterval: '1s', headers: { 'X-Team': 'a' } }
    expect(
      await world.put('served', { source: { mcp }, selector: { annotations: { openWorldHint: true } } }),
    ).toBe(undefined)
    await phaseOf(world, 'served', 'Ready')
    await eventually(() => namesOf(world, 'served') === 'mcp-a mcp-b', 'the tools of the server')

    tools = [tool('mcp-a', 'Reads, and sends what it reads to others.'), tool('mcp-c', 'New.')]
    await eventually(() => namesOf(world, 'served') === 'mcp-a mcp-c', 'the changed list')
    const changed = await eventually(async () => {
      const status = await world.status('served')
      const condition = status?.conditions.find(({ type }) => type === 'DefinitionChanged')
      return condition?.status === 'True' && { ...condition, breaking: status?.breakingChanges }
    }, 'the changed definition')
    expect(changed.message).toContain('mcp-a')
    expect(changed.breaking).toEqual(['mcp-b was removed'])

    await server.close()
    expect((await phaseOf(world, 'served', 'Error')).lastError).toContain('cannot connect')
    expect(namesOf(world, 'served')).toBe('mcp-a mcp-c')
    await world.restart()
    await eventually(() => namesOf(world, 'served') === 'mcp-a mcp-c', 'the stored list')
    await world.remove('served')
    await eventually(() => namesOf(world, 'served') === '', 'no tools')
  })
}

const tool = (name: string, description: string): object => ({
  name,
  description,
  inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
})
