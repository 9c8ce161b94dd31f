/** Operations, references, selector entries and credentials that do not become part of a tool: each is counted. */
import { describe, expect, it } from 'vitest'
import { lintToolSet } from '../../../src/catalog/inspect/lint.ts'
import { runCompileJob } from '../../../src/catalog/sync/compile-job.ts'
import { toolSetStatus } from '../../../src/catalog/sync/status.ts'
import type { ToolSet } from '../../../src/model/tool-set.ts'
import { type Json, openapi, toolSet } from './build.ts'

function outcomeOf(document: object, changes: Partial<ToolSet> = {}) {
  const outcome = runCompileJob({ document: JSON.stringify(document), toolSet: toolSet(changes) })
  if (outcome.kind !== 'compiled') throw new Error(JSON.stringify(outcome))
  const { result } = outcome
  const common = {
    lastError: undefined,
    specHash: '',
    lastSyncedAt: '',
    changed: [],
    toolFaults: [],
    breaking: [],
  }
  const input = { phase: 'Ready', toolNames: result.tools.map(tool => tool.name), result, ...common } as const
  const status = toolSetStatus(input, { phase: 'Pending', toolCount: 0, tools: [], conditions: [] }, 0)
  const { findings } = lintToolSet({ toolSet: toolSet(changes), result })
  const condition = status.conditions.find(({ type }) => type === 'Degraded')!
  return {
    names: input.toolNames,
    status: condition.status,
    message: condition.message,
    rules: findings.map(({ rule }) => rule).filter(rule => !rule.includes('description')),
    findings,
  }
}

const get = (operationId: string, rest: Json = {}): Json => ({ get: { operationId, ...rest } })

describe('paths that cannot be read', () => {
  it.each([
    ['a path item of another file', '/b', { $ref: 'other.yaml#/b' }, 'refers to other.yaml#/b'],
    ['a path item that does not exist', '/b', { $ref: '#/components/pathItems/B' }, 'refers to #/components'],
    ['a path item that is not an object', '/b', 'text', 'the path item is a string'],
    ['a path without slash', 'b', get('b'), 'does not begin with "/"'],
  ])('%s', (_, path, item, reason) => {
    const { names, status, message, rules } = outcomeOf(openapi({ '/a': get('a'), [path]: item }))
    expect([names, status]).toEqual([['a'], 'True'])
    expect(message).toContain(`operations that did not become tools: 1 (${path}: `)
    expect(message).toContain(reason)
    expect(rules).toContain('skipped-operation')
  })

  it('fields beside the reference of a path item are kept', () => {
    const { names } = outcomeOf(
      openapi(
        { '/a': { $ref: '#/components/pathItems/A', post: { operationId: 'more' } } },
        { components: { pathItems: { A: get('a') } } },
      ),
    )
    expect(names).toEqual(['a', 'more'])
  })
})

describe('references', () => {
  const schema = (value: unknown): Json => ({ content: { 'application/json': { schema: value } } })
  const body = (value: unknown): Json =>
    openapi({ '/a': { post: { operationId: 'a', requestBody: schema(value) } } })

  it('that lead to nothing are counted with place, reason and fix', () => {
    const { status, message, findings } = outcomeOf(
      body({
        type: 'object',
        properties: { x: { $ref: '#/components/schemas/X' }, y: { $ref: './y.json' } },
      }),
    )
    const at = '#/paths/~1a/post/requestBody/content/application~1json/schema/properties'
    expect(status).toBe('True')
    expect(message).toContain(
      `unresolved references: 2 (${at}/x: $ref #/components/schemas/X: the document has no value at`,
    )
    const found = findings.filter(({ rule }) => rule === 'unresolved-reference')
    expect(found.map(({ subject }) => subject)).toEqual([`${at}/x`, `${at}/y`])
    expect(found.every(({ fix }) => fix !== '')).toBe(true)
  })

  it('in examples, enumerations and extensions are values', () => {
    const value = { $ref: 'nowhere.json' }
    const { status, message } = outcomeOf(
      body({
        type: 'object',
        properties: {
          example: { type: 'string', default: 'x', 'x-note': value },
          default: { enum: [value] },
        },
        example: value,
      }),
    )
    expect([status, message]).toEqual(['False', 'every selected operation is a tool'])
  })

  it('by $id, $anchor and nested $id are followed in 3.1', () => {
    const document = openapi(
      {
        '/a': {
          post: {
            operationId: 'a',
            requestBody: { required: true, ...schema({ $ref: '#/components/schemas/Root' }) },
          },
        },
      },
      {
        components: {
          schemas: {
            Root: {
              type: 'object',
              properties: {
                byId: { $ref: 'https://schemas.test/unit.json' },
                byAnchor: { $ref: '#deep' },
                inner: { $ref: 'https://schemas.test/outer.json#/$defs/Inner' },
              },
            },
            Unit: { $id: 'https://schemas.test/unit.json', type: 'string', maxLength: 3 },
            Outer: {
              $id: 'https://schemas.test/outer.json',
              $defs: { Inner: { $ref: 'unit.json' }, Deep: { $anchor: 'deep', type: 'integer' } },
            },
          },
        },
      },
    )
    const outcome = runCompileJob({ document: JSON.stringify(document), toolSet: toolSet() })
    if (outcome.kind !== 'compiled') throw new Error(JSON.stringify(outcome))
    expect(outcome.result.unresolved).toEqual([])
    const text = { type: 'string', maxLength: 3 }
    expect(outcome.result.tools[0]?.inputSchema.properties).toEqual({
      byId: text,
      byAnchor: { type: 'integer' },
      inner: text,
    })
  })
})

describe('selector entries that match nothing', () => {
  const document = openapi({ '/a': get('a', { tags: ['t'] }) })

  it.each([
    [{ tags: ['t', 'admin'] }, 'tags: admin'],
    [{ excludeTags: ['none'] }, 'excludeTags: none'],
    [{ methods: ['GET', 'PUT'] }, 'methods: PUT'],
    [{ operationIds: ['a', 'z'] }, 'operationIds: z'],
    [{ pathPrefix: '/z' }, 'pathPrefix: /z'],
  ])('%o', (selector, entry) => {
    const { status, message, rules } = outcomeOf(document, { selector })
    expect([status, message.includes(`selector.${entry}`), rules]).toEqual([
      'True',
      true,
      ['unmatched-selector'],
    ])
  })

  it('are not reported when each matches', () => {
    const selector = { tags: ['t'], methods: ['GET'], operationIds: ['a'], pathPrefix: '/' }
    expect(outcomeOf(document, { selector })).toMatchObject({ status: 'False', rules: [] })
  })
})

describe('security without credential', () => {
  const document = openapi(
    { '/a': get('a'), '/b': get('b', { security: [] }), '/c': get('c', { security: [{ key: [] }, {}] }) },
    {
      security: [{ key: [] }],
      components: { securitySchemes: { key: { type: 'apiKey', in: 'query', name: 'k' } } },
    },
  )

  it('is reported for the operations that need one', () => {
    const { status, message, rules } = outcomeOf(document)
    expect(status).toBe('False')
    expect(message).toContain(
      '1 operation needs a credential (security schemes: key): set spec.toolDefaults.authentication',
    )
    expect(rules).toEqual(['missing-credential'])
  })

  it('is not reported with authentication', () => {
    const { toolDefaults } = toolSet()
    const authentication = { type: 'apiKey', secretRef: { name: 's', key: 'k' } } as const
    expect(outcomeOf(document, { toolDefaults: { ...toolDefaults, authentication } })).toMatchObject({
      message: 'every selected operation is a tool',
      rules: [],
    })
  })
})
