/** Comparison of the definitions of tools with names of arguments as MCP servers may choose them. The comparison after a synchronization is tested in `reconcile.test.ts`. */
import { describe, expect, it } from 'vitest'
import { definitionOf, nextRecord } from '../../../../src/catalog/sync/definitions.ts'
import type { Tool } from '../../../../src/model/tool.ts'

function toolWith(
  description: string,
  properties: { [name: string]: object },
  required: string[] = [],
): Tool {
  return { description, inputSchema: { type: 'object', properties, required } } as unknown as Tool
}

async function compared(before: Tool, after: Tool) {
  const previous = await nextRecord(undefined, { t: definitionOf(before) }, false)
  return nextRecord(previous, { t: definitionOf(after) }, false)
}

describe.each(['due date', 'xml:lang', 'a!', '100%', 'a b:c!', '\u0000', '\ud800', ' ', ''])(
  'an argument named %j',
  name => {
    it('that is added beside a changed description is compared, and the tool counts as changed', async () => {
      const before = toolWith('a', { x: { type: 'string' } })
      const after = toolWith('b', { x: { type: 'string' }, [name]: { type: 'string' } })
      expect(await compared(before, after)).toMatchObject({ changed: ['t'], breaking: [] })
    })

    it('that changes its type, or is required, is named once', async () => {
      const before = toolWith('a', { [name]: { type: 'string' } })
      expect((await compared(before, toolWith('a', { [name]: { type: 'number' } })))?.breaking).toHaveLength(
        1,
      )
      expect(
        (await compared(before, toolWith('a', { [name]: { type: 'string' } }, [name])))?.breaking,
      ).toHaveLength(1)
      expect((await compared(before, toolWith('a', {})))?.breaking).toHaveLength(1)
    })
  },
)

it('a record of an earlier version, with names as they were, is compared without an error', async () => {
  const { length } = '0123456789abcdef'
  const stored = { tools: { t: `${'0'.repeat(length)} due date:string x:string` }, changed: [], breaking: [] }
  const now = { t: definitionOf(toolWith('b', { 'due date': { type: 'string' }, x: { type: 'string' } })) }
  expect(await nextRecord(stored, now, false)).toMatchObject({ changed: ['t'] })
})
