/** Synchronization, phases and status of a tool set (docs/reference/toolset.md, Synchronization), for every source; and its life with an MCP server. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { serve } from '../../unit/catalog/deployment.ts'
import { sourceMcp } from './source-mcp.ts'
import {
  BASE_URL,
  documentOf,
  eventually,
  inline,
  namesOf,
  phaseOf,
  ready,
  type SourceWorld,
  toolsOf,
} from './source-world.ts'

export function sourceLife(open: () => Promise<SourceWorld>): void {
  let world: SourceWorld
  beforeAll(async () => {
    world = await open()
  }, 180_000)
  afterAll(() => world?.close())

  describe('an MCP server', () => sourceMcp(() => world))

  describe('synchronization', () => {
    it('1: on creation the document is fetched and tools are generated', async () => {
      let requests = 0
      const server = await serve((_, response) => {
        requests++
        response.end(documentOf({ 'one.a': {}, 'one.b': {} }))
      })
      const tools = await ready(world, 'one', { openAPISpec: { url: server.url } })
      expect([requests, tools.length]).toEqual([1, 2])
      await server.close()
    })

    it('2 and 3: it is fetched again every refreshInterval; tools change only when its hash does', async () => {
      const operations = { 'two.a': {}, 'two.b': {} }
      let body = documentOf(operations)
      let requests = 0
      const server = await serve((_, response) => {
        requests++
        response.end(body)
      })
      await ready(world, 'two', { openAPISpec: { url: server.url, refreshInterval: '1s' } })
      const [before, published] = [(await world.status('two'))!, world.published.length]
      // Another text, the same document.
      body = JSON.stringify(JSON.parse(body), null, 2)
      const seen = requests
      await eventually(() => requests >= seen + 2, 'two refreshes')
      const after = await eventually(async () => {
        const status = await world.status('two')
        return status?.lastSyncedAt !== before.lastSyncedAt && status
      }, 'a later lastSyncedAt')
      expect(after.specHash).toBe(before.specHash)
      expect(world.published.length).toBe(published)
      body = documentOf({ ...operations, 'two.c': {} })
      await eventually(() => namesOf(world, 'two') === 'two.a two.b two.c', 'the new tool')
      await eventually(
        async () => (await world.status('two'))?.specHash !== before.specHash,
        'another specHash',
      )
      await world.remove('two')
      await server.close()
    })

    it('4: new operations add tools, removed operations remove tools, the others stay as they were', async () => {
      const [, kept] = await ready(world, 'four', inline('four.a', 'four.b'))
      await world.put('four', { baseURL: BASE_URL, ...inline('four.b', 'four.c') })
      await eventually(() => namesOf(world, 'four') === 'four.b four.c', 'the other tools')
      expect(toolsOf(world, 'four')[0]).toEqual(kept)
      await world.remove('four')
      await eventually(() => namesOf(world, 'four') === '', 'the removal')
      await eventually(async () => (await world.status('four')) === undefined, 'the removal of the status')
    })

    it('5: manual changes of tools are preserved, through new documents and a restart', async () => {
      await ready(world, 'five', inline('five.a', 'five.b'))
      await world.editTool('five.a', { description: 'By hand.', timeout: '5s' })
      await world.editTool('five.b', { enabled: false })
      const isEdited = () => {
        const tools = toolsOf(world, 'five')
        return (
          tools[0]?.description === 'By hand.' && tools[0].timeoutMs === 5000 && tools[1]?.name !== 'five.b'
        )
      }
      await eventually(isEdited, 'the edits')
      const document = documentOf({ 'five.a': { summary: 'Does more.' }, 'five.b': {}, 'five.c': {} })
      await world.put('five', { baseURL: BASE_URL, openAPISpec: { inline: document } })
      await eventually(() => namesOf(world, 'five') === 'five.a five.c', 'the new document')
      expect(isEdited()).toBe(true)
      await world.restart()
      await eventually(() => namesOf(world, 'five') === 'five.a five.c', 'the tools after a restart')
      expect(isEdited()).toBe(true)
    })
  })

  describe('phases', () => {
    it('Syncing while the document is fetched, then Ready', async () => {
      let reply: (() => void) | undefined
      const server = await serve((_, response) => {
        reply = () => response.end(documentOf({ slow: {} }))
      })
      await world.put('slow', { baseURL: BASE_URL, openAPISpec: { url: server.url } })
      expect(await phaseOf(world, 'slow', 'Syncing')).toMatchObject({ toolCount: 0 })
      await eventually(() => reply !== undefined, 'the request')
      reply?.()
      expect(await phaseOf(world, 'slow', 'Ready')).toMatchObject({ toolCount: 1 })
      await server.close()
    })

    it('Error keeps the last Ready tools and reports lastError; the next valid document ends it', async () => {
      await ready(world, 'flaky', inline('flaky'))
      await world.put('flaky', { baseURL: BASE_URL, openAPISpec: { inline: '<html>' } })
      const status = await phaseOf(world, 'flaky', 'Error')
      expect(status).toMatchObject({ toolCount: 1, tools: ['flaky'] })
      expect(status.lastError).toContain('HTML')
      expect(namesOf(world, 'flaky')).toBe('flaky')
      await ready(world, 'flaky', inline('flaky'))
      expect((await world.status('flaky'))?.lastError).toBeUndefined()
    })

    it('a source that is unavailable after a restart still serves the last Ready tools', async () => {
      const server = await serve((_, response) => response.end(documentOf({ kept: {} })))
      await ready(world, 'away', { openAPISpec: { url: server.url } })
      await server.close()
      await world.restart()
      const status = await phaseOf(world, 'away', 'Error')
      expect(status).toMatchObject({ toolCount: 1, lastError: expect.stringContaining('cannot be fetched') })
      expect(namesOf(world, 'away')).toBe('kept')
    })
  })

  describe('status', () => {
    it('reports every field of the table', async () => {
      const before = Date.now()
      await ready(world, 'reported', inline('reported.b', 'reported.a'))
      const status = (await world.status('reported'))!
      expect(status).toMatchObject({ phase: 'Ready', toolCount: 2, tools: ['reported.a', 'reported.b'] })
      expect(status.specHash).toMatch(/^[0-9a-f]{64}$/)
      expect(Date.parse(status.lastSyncedAt!)).toBeGreaterThan(before - 60_000)
      expect(status.lastSyncedAt).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
      expect(status.lastError).toBeUndefined()
      expect(status.conditions.map(c => [c.type, c.status])).toEqual([
        ['Ready', 'True'],
        ['Synced', 'True'],
        ['Degraded', 'False'],
        ['DefinitionChanged', 'False'],
      ])
      for (const { reason, message, lastTransitionTime } of status.conditions) {
        expect([reason, message].every(text => text.length > 0)).toBe(true)
        expect(Date.parse(lastTransitionTime)).toBeGreaterThan(before - 60_000)
      }
    })

    it('names operations that did not become tools in Degraded', async () => {
      const document = JSON.parse(documentOf({ 'half.good': {} })) as { paths: Record<string, unknown> }
      document.paths['/bad'] = { get: { operationId: 'half.bad', parameters: [{ $ref: '#/nowhere' }] } }
      await ready(world, 'half', { openAPISpec: { inline: JSON.stringify(document) } })
      const degraded = (await world.status('half'))?.conditions.find(c => c.type === 'Degraded')
      expect(degraded).toMatchObject({ status: 'True', message: expect.stringContaining('half.bad: ') })
    })

    it('raises DefinitionChanged and lists what breaks callers, until the document is accepted', async () => {
      const condition = async () =>
        (await world.status('turned'))?.conditions.find(c => c.type === 'DefinitionChanged')
      await ready(world, 'turned', {
        openAPISpec: { inline: documentOf({ turned: { summary: 'Reads.' }, gone: {} }) },
      })
      const changed = {
        baseURL: BASE_URL,
        openAPISpec: { inline: documentOf({ turned: { summary: 'Deletes all.' } }) },
      }
      await world.put('turned', changed)
      const raised = await eventually(async () => {
        const found = await condition()
        return found?.status === 'True' && found
      }, 'DefinitionChanged')
      expect(raised.message).toContain('turned')
      const status = await phaseOf(world, 'turned', 'Ready')
      expect(status.breakingChanges).toEqual(['gone was removed'])
      await world.put('turned', changed, {
        annotations: { 'toolgate.dev/accepted-spec-hash': status.specHash! },
      })
      await eventually(async () => (await condition())?.status === 'False', 'the acceptance')
    })
  })
}
