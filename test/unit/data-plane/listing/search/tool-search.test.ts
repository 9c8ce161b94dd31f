/** The search over tools: words, what a request does, parts, and kept indexes. Figures over real documents: test/corpus/search.test.ts. */
import { describe, expect, it } from 'vitest'
import { ToolIndex } from '../../../../../src/data-plane/listing/search/tool-index.ts'
import { ToolIndexes } from '../../../../../src/data-plane/listing/search/tool-indexes.ts'
import { wordsOf } from '../../../../../src/data-plane/listing/search/words.ts'
import type { CompiledTool, Snapshot } from '../../../../../src/data-plane/snapshot/snapshot.ts'
import { indexOf, namesFound } from '../../../../fixtures/search-score.ts'

const entry = (name: string, description: string, method = 'GET', path = `/${name}`, toolSet = 'set') =>
  ({
    tool: {
      name,
      description,
      toolSet,
      tags: [],
      inputSchema: { type: 'object', properties: {} },
      request: { method, path },
    },
  }) as unknown as CompiledTool

const find = (tools: readonly CompiledTool[], request: string, limit = 5) =>
  namesFound(indexOf(tools), request, limit)

describe('words', () => {
  it.each([
    ['listPullRequests', ['list', 'pull', 'request']],
    ['HTTPServer v2_name', ['http', 'server', 'v2', 'nam']],
    ['Bücher für Kinder', ['bucher', 'fur', 'kinder']],
    ['Stopped studies, watches', ['stop', 'study', 'watch']],
    ['unfollow', ['unfollow', 'follow']],
    ['取得する', ['取得', '得す', 'する']],
    ['Удалить заказ', ['удалить', 'заказ']],
    ['…!', []],
  ])('of %j', (text, words) => {
    expect(wordsOf(text)).toEqual(words)
  })

  it('of a long text are bounded', () => {
    expect(wordsOf('ab '.repeat(100_000)).length).toBeLessThan(2_000)
  })
})

describe('a search', () => {
  const issues = [
    entry('getIssue', 'Returns an issue', 'GET', '/issues/{id}'),
    entry('deleteIssue', 'Deletes an issue', 'DELETE', '/issues/{id}'),
    entry('createIssue', 'Creates an issue', 'POST', '/issues'),
    entry('updateIssue', 'Updates an issue', 'PATCH', '/issues/{id}'),
    entry('listLabels', 'Lists labels', 'GET', '/labels'),
  ]

  it.each([
    ['show issue 7', 'getIssue'],
    ['delete the issue', 'deleteIssue'],
    ['create a new issue', 'createIssue'],
    ['rename issue 7', 'updateIssue'],
    ['labels', 'listLabels'],
  ])('for %j prefers what the request does', (request, name) => {
    expect(find(issues, request)[0]).toBe(name)
  })

  it('works without spaces between words', () => {
    const tools = [entry('a', '注文を取り消す', 'POST'), entry('b', '商品の一覧を取得する')]
    expect(find(tools, '注文の取り消し')[0]).toBe('a')
    expect(find(tools, '商品一覧')[0]).toBe('b')
  })

  it('finds nothing for words that say nothing', () => {
    expect(find(issues, 'please could you')).toEqual([])
    expect(find(issues, 'zebra')).toEqual([])
  })

  it('looks through every part of a large catalog, and may be interrupted between them', () => {
    const tools = Array.from({ length: 4_500 }, (_, n) => entry(`tool${n}`, `Reads the record of kind${n}`))
    const index = indexOf(tools)
    expect(namesFound(index, 'record of kind4321', 1)).toEqual(['tool4321'])
    const searching = index.searchSteps('record', () => true, 5)
    let turns = 0
    while (searching.next().done !== true) turns++
    expect(turns).toBe(3)
  })
})

describe('indexes', () => {
  const toolsOf = (name: string, count: number) =>
    new Map(Array.from({ length: count }, (_, n) => [`${name}${n}`, entry(`${name}${n}`, name)]))
  const shared = toolsOf('shared', 2)

  it('are kept for each set of tools, while it stays the same', async () => {
    const own = toolsOf('own', 3)
    const snapshot = {
      toolsOf: (tenant?: string) => (tenant === 'acme' ? own : shared),
    } as unknown as Snapshot
    const indexes = new ToolIndexes()
    const first = await indexes.of(snapshot, 'acme')
    expect(first).toBeInstanceOf(ToolIndex)
    expect(await indexes.of({ ...snapshot }, 'acme')).toBe(first)
    expect(await indexes.of(snapshot, 'beta')).toBe(await indexes.of(snapshot, undefined))
    const changed = { toolsOf: () => toolsOf('changed', 3) } as unknown as Snapshot
    expect(await indexes.of(changed, 'acme')).not.toBe(first)
  })

  it('are dropped when they hold too many tools, the one unused longest first', async () => {
    const maps = new Map(['a', 'b', 'c'].map(name => [name, toolsOf(name, 4)]))
    const snapshot = { toolsOf: (tenant?: string) => maps.get(tenant ?? '') ?? shared } as unknown as Snapshot
    const indexes = new ToolIndexes(10)
    const [a, b] = [await indexes.of(snapshot, 'a'), await indexes.of(snapshot, 'b')]
    expect(await indexes.of(snapshot, 'a')).toBe(a)
    await indexes.of(snapshot, 'c')
    expect(await indexes.of(snapshot, 'a')).toBe(a)
    expect(await indexes.of(snapshot, 'b')).not.toBe(b)
  })
})
