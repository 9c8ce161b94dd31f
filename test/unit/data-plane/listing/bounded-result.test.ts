/** Links in results that are too long for a model: which are kept, and what replaces the others. */
import { expect, it } from 'vitest'
import { boundedResult } from '../../../../src/data-plane/listing/bounded-result.ts'
import type { Content, Tool } from '../../../../src/model/tool.ts'

const tool = { inputSchema: { properties: {} } } as unknown as Tool
const text = { type: 'text', text: 'x'.repeat(2_000) } as const

const bounded = (content: readonly Content[], _meta?: object) =>
  boundedResult({ content, isError: false, ...(_meta && { _meta }) } as never, 1_000, tool).content

it('keeps the address of a link after a text that is cut', () => {
  const link = {
    type: 'resource_link',
    uri: 'file:///reports/7',
    name: 'report',
    mimeType: 'text/csv',
  } as const
  const meta = { 'toolgate.dev/backend': { contentLocation: 'https://files.test/1.pdf' } }
  expect(bounded([text, link]).at(-1)).toEqual(link)
  expect(bounded([text, link], meta).at(-1)).toEqual(link)
})

it('replaces a link that is too long, with its length', () => {
  const link = { type: 'resource_link', uri: `https://files.test/${'a'.repeat(9_981)}`, name: 'r' } as const
  expect(bounded([link])).toEqual([
    {
      type: 'text',
      text: expect.stringMatching(/^\[Left out: a link of 10001 characters, more than the limit of 512/),
    },
  ])
})
