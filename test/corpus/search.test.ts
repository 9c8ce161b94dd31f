/** The tool search over real documents: requests as agents write them, tokens of a first turn, tools that the caller may not see. */
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { beforeAll, describe, expect, it } from 'vitest'
import { foundText } from '../../src/data-plane/http/mcp/search-calls.ts'
import type { ToolIndex } from '../../src/data-plane/listing/search/tool-index.ts'
import { searchTools } from '../../src/data-plane/listing/search-tools.ts'
import { toolsForm } from '../../src/data-plane/listing/tool-view.ts'
import type { CompiledTool } from '../../src/data-plane/snapshot/snapshot.ts'
import { LARGE_INSTALLED } from '../fixtures/large-documents.ts'
import { indexOf, largeCatalog, mixedCatalog, namesFound, scoreOf } from '../fixtures/search-score.ts'

const required = process.env.REQUIRE_SERVICES === '1'

describe.skipIf(!LARGE_INSTALLED && !required)(
  'search over 1,347 tools (bring them: node scripts/corpus.mjs --install)',
  () => {
    let tools: readonly CompiledTool[]
    let index: ToolIndex
    beforeAll(() => {
      tools = largeCatalog()
      index = indexOf(tools)
    }, 120_000)

    it('finds the tool for requests as agents write them, in few tokens', () => {
      const mixed = mixedCatalog()
      expect(mixed).toHaveLength(1_232)
      const mixedIndex = indexOf(mixed)
      const score = scoreOf(mixedIndex, new URL('search/requests.tsv', import.meta.url))
      expect(score.requests).toBe(300)
      expect(score.amongFive, score.missed.join('\n')).toBeGreaterThanOrEqual(0.95)
      expect(score.first).toBeGreaterThanOrEqual(0.85)
      const byName = new Map(mixed.map(({ tool }) => [tool.name, { tool }]))
      const tokens = score.found.map(names => countTokens(foundText(names.map(name => byName.get(name)!))))
      expect(Math.max(...tokens)).toBeLessThanOrEqual(3_000)
    })

    it('lists with few tokens', async () => {
      expect(tools).toHaveLength(1_347)
      const listed = searchTools(tools.map(({ tool }) => tool)).map(tool => ({ tool }))
      const form = await toolsForm({ tools: listed, forms: new Map() }, '2025-11-25')
      if ('pieces' in form) throw new Error('three tools are short')
      expect(countTokens(form.json)).toBeLessThanOrEqual(700)
    })

    it('ignores tools that the caller may not see', () => {
      const hidden = namesFound(index, 'close the issue')[0]!
      const searching = index.searchSteps('close the issue', ({ tool }) => tool.name !== hidden, 20)
      let step = searching.next()
      while (step.done !== true) step = searching.next()
      expect(step.value.map(({ tool }) => tool.name)).not.toContain(hidden)
      expect(step.value).toHaveLength(20)
    })
  },
)
