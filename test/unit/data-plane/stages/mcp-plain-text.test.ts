/** A result of an MCP server that is one short text becomes bytes that hold the same result; any other goes the longer way. */
import { describe, expect, it } from 'vitest'
import { MAX_TEXT_BYTES, TextReply } from '../../../../src/data-plane/pipeline/text-reply.ts'
import { mcpResult, plainTextOf } from '../../../../src/data-plane/stages/5-invoke/mcp-result.ts'
import type { ToolResult } from '../../../../src/model/tool.ts'

const text = (value: string) => ({ type: 'text', text: value })
const bytesOf = (result: object) => plainTextOf(mcpResult(result as { [name: string]: unknown }, 'p:')!)

describe('a result that is one text', () => {
  it.each([
    [''],
    ['ok'],
    ['"quoted" \\ and \u0000 control'],
    ['Grüße, 世界, 🙂'],
    ['a\ufeffb'],
    ['x'.repeat(MAX_TEXT_BYTES / 4)],
  ])('is the same result again: %j', value => {
    for (const result of [{ content: [text(value)] }, { content: [text(value)], isError: false }]) {
      const bytes = bytesOf(result)
      expect(bytes).toBeDefined()
      const expected: ToolResult = { content: [{ type: 'text', text: value }], isError: false }
      expect(new TextReply(bytes!, 200).result).toEqual(expected)
    }
  })

  it.each([
    ['an error', { content: [text('no')], isError: true }],
    ['structured content', { content: [text('{}')], structuredContent: {} }],
    ['metadata', { content: [text('a')], _meta: { mine: 1 } }],
    ['annotations', { content: [{ ...text('a'), annotations: { priority: 1 } }] }],
    ['metadata of the part', { content: [{ ...text('a'), _meta: {} }] }],
    ['two parts', { content: [text('a'), text('b')] }],
    ['no part', { content: [] }],
    ['another type', { content: [{ type: 'image', data: 'AA==', mimeType: 'image/png' }] }],
    ['a part that is not valid', { content: [{ type: 'text' }] }],
    ['half a surrogate pair', { content: [text('a\ud800')] }],
    ['a byte order mark', { content: [text('\ufeffa')] }],
    ['a long text', { content: [text('x'.repeat(MAX_TEXT_BYTES))] }],
  ])('and has %s goes the longer way', (name, result) => {
    const bytes = bytesOf(result)
    // it is replaced by a text that names it
    if (name === 'a part that is not valid') expect(String(bytes)).toMatch(/Left out/)
    else expect(bytes).toBeUndefined()
  })

  it('and has only metadata that belongs to the gateway and to MCP is the text alone', () => {
    const _meta = { 'io.modelcontextprotocol/serverInfo': { name: 's' } }
    expect(String(bytesOf({ content: [text('a')], resultType: 'complete', _meta }))).toBe('a')
  })
})
