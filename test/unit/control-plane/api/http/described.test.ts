/** The served document describes every operation and event: summary, rights, valid examples, and errors, each with an example of a code. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { describe, expect, it } from 'vitest'
import { controlPlaneDocument, ENDPOINTS } from '../../../../../src/control-plane/api/endpoints.ts'
import { WEBHOOK_EVENT_KINDS } from '../../../../../src/model/event.ts'
import { sampleData } from '../../../../../src/model/webhook.ts'

interface Media {
  readonly schema: object
  readonly example: unknown
}
interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly 'x-requires': { readonly all?: string[]; readonly any?: string[]; readonly roles?: string[] }
  readonly 'x-stream'?: true
  readonly security?: readonly object[]
  readonly requestBody?: { readonly content: { readonly [type: string]: Media } }
  readonly responses: {
    readonly [status: string]: { description: string; content?: { readonly [type: string]: Media } }
  }
}
type Operations = { readonly [path: string]: { readonly [method: string]: Operation } }

const document = JSON.parse(
  JSON.stringify(controlPlaneDocument({ apiUrl: 'https://api.example', version: '1' })),
) as { readonly paths: Operations; readonly webhooks: Operations; readonly components: object }
const listed = (operations: Operations) =>
  Object.values(operations).flatMap(methods =>
    Object.values(methods).map(operation => [operation.operationId, operation] as const),
  )

const ajv = new Ajv2020({ strict: false })
;(formats as unknown as (instance: Ajv2020) => void)(ajv)
ajv.addSchema({ $id: 'document', ...document })

/** Many bodies have the same schema. */
const validators = new Map<string, ValidateFunction>()

function faultsOf({ schema, example }: Media): unknown {
  const text = JSON.stringify(schema).replaceAll('"#/', '"document#/')
  const validate = validators.get(text) ?? ajv.compile(JSON.parse(text))
  validators.set(text, validate)
  return validate(example) ? [] : [example, validate.errors]
}

describe.each(listed(document.paths))('%s', (id, operation) => {
  it('has a summary, and names the scopes and roles that it needs', () => {
    expect(operation.summary).toMatch(/^[A-Z].{9,}[^.]$/)
    const { all = [], any = [], roles = [] } = operation['x-requires']
    for (const name of [...all, ...any, ...roles]) expect(operation.description).toContain(name)
    if (all.length + any.length === 0) expect(operation.description).toBe('Needs no token.')
    else expect(operation.description).toMatch(/^Needs the scope `/)
  })

  it('has valid examples of its bodies, in the request as the endpoint accepts it', () => {
    const bodies = [operation.requestBody, ...Object.values(operation.responses)]
    const media = bodies.flatMap(body => {
      const json = body?.content?.['application/json']
      return json === undefined ? [] : [json]
    })
    for (const each of media) expect(faultsOf(each)).toEqual([])
    const endpoint = ENDPOINTS.find(each => each.id === id)
    if (endpoint?.body === undefined) return
    const sent = operation.requestBody!.content['application/json']!.example
    expect(endpoint.body.safeParse(sent).error?.issues ?? []).toEqual([])
  })

  it('has its errors, each with an example of a code and a message', () => {
    const errors = Object.entries(operation.responses).filter(([status]) => status >= '400')
    // visitors have no token
    const expected = operation.security?.length === 0 ? ['400', '403', '429'] : ['400', '401', '403', '429']
    expect(errors.map(([status]) => status)).toEqual(expect.arrayContaining([...expected, '500', '503']))
    for (const [status, { content }] of errors) {
      const { error } = content!['application/json']!.example as { error: { code: string; message: string } }
      expect([status, error.code, error.message]).toEqual([
        status,
        expect.stringMatching(/^[a-z_]+$/),
        expect.any(String),
      ])
    }
  })
})

describe('the webhooks', () => {
  it('are those of every event', () => {
    expect(Object.keys(document.webhooks).sort()).toEqual([...WEBHOOK_EVENT_KINDS].sort())
  })

  it.each(WEBHOOK_EVENT_KINDS)('%s fits the sample that is sent as a test, and its example', kind => {
    const { post } = document.webhooks[kind]!
    expect(post!.summary).toMatch(/^A /)
    const media = post!.requestBody!.content['application/json']!
    expect(faultsOf(media)).toEqual([])
    const message = { event: kind, timestamp: '2026-01-31T12:00:00.000001Z', webhook_id: 'whk_1', test: true }
    expect(faultsOf({ ...media, example: { ...message, data: sampleData(kind, new Date(0)) } })).toEqual([])
  })
})
