/** ToolSets with more tools than some clients use at once: the note in the status, and `listing: search`, which removes it. */
import { describe, expect, it } from 'vitest'
import { PENDING, toolSetStatus } from '../../../src/catalog/sync/status.ts'
import { compile, openapi } from './build.ts'

const operations = (count: number) =>
  openapi(
    Object.fromEntries(
      Array.from({ length: count }, (_, n) => [`/things${n}`, { get: { operationId: `get${n}` } }]),
    ),
  )

function messageOf(count: number, more: object = {}): string {
  const result = compile(operations(count), more)
  const input: Parameters<typeof toolSetStatus>[0] = {
    phase: 'Ready',
    toolNames: result.tools.map(({ name }) => name),
    result,
    changed: [],
    toolFaults: [],
    breaking: [],
    specHash: undefined,
    lastSyncedAt: undefined,
    lastError: undefined,
  }
  const { conditions } = toolSetStatus(input, PENDING, 0)
  return conditions.find(({ type }) => type === 'Degraded')!.message
}

describe('a tool set of many tools', () => {
  it.each([
    [40, undefined],
    [41, '41 tools are more than some clients use at once (limits: Cursor 40)'],
    [101, '(limits: Cursor 40, Windsurf 100)'],
    [
      129,
      '(limits: Cursor 40, Windsurf 100, VS Code 128, ChatGPT 128, Codex 128): set spec.listing to search',
    ],
  ])('of %d: %j', (count, note) => {
    if (note === undefined) expect(messageOf(count)).not.toContain('more than some clients')
    else expect(messageOf(count)).toContain(note)
  })

  it('is not noted when its tools are searched for', () => {
    expect(messageOf(129, { listing: 'search' })).not.toContain('more than some clients')
    expect(compile(operations(1), { listing: 'search' }).tools[0]!.listing).toBe('search')
  })
})
