/** The tools of an API of the control plane: how many and how large they may be. */
import { describe, expect, it } from 'vitest'
import { API_TOOL_BOUNDS, apiTools } from '../../../src/catalog/api-tools.ts'
import { runCompileJob } from '../../../src/catalog/sync/compile-job.ts'
import type { Api } from '../../../src/model/api.ts'
import type { Tenant } from '../../../src/model/tenant.ts'

const compiler = {
  compile: async (job: Parameters<typeof runCompileJob>[0]) => runCompileJob(job),
  close: async () => {},
}

function toolsOf(operations: number, properties: number) {
  const names = Array.from({ length: properties }, (_, i) => `property_${i}`)
  const schema = {
    type: 'object',
    properties: Object.fromEntries(
      names.map(name => [name, { type: 'string', description: name.repeat(20) }]),
    ),
  }
  const content = { 'application/json': { schema: { $ref: '#/components/schemas/Big' } } }
  const post = { requestBody: { content } }
  const spec = {
    openapi: '3.1.0',
    info: { title: 'T', version: '1' },
    paths: Object.fromEntries(Array.from({ length: operations }, (_, i) => [`/p${i}`, { post }])),
    components: { schemas: { Big: schema } },
  }
  const api = {
    id: 'api_1',
    name: 'Big',
    path: '/big',
    upstreamUrl: 'http://backend.test',
    spec: JSON.stringify(spec),
    traffic: null,
    versioning: null,
    version: '1',
    deprecatedAt: null,
    deprecation: null,
  } as unknown as Api
  return apiTools(api, { name: 'acme' } as Tenant, compiler)
}

describe('the document of an API', () => {
  it(`makes ${API_TOOL_BOUNDS.maxTools} tools, and an error that names the limit beyond`, async () => {
    expect((await toolsOf(API_TOOL_BOUNDS.maxTools, 10)).tools).toHaveLength(API_TOOL_BOUNDS.maxTools)
    await expect(toolsOf(API_TOOL_BOUNDS.maxTools + 1, 10)).rejects.toThrow(
      'the document has 5001 operations, more than the limit of 5000: split the document',
    )
  }, 60_000)

  it('is an error that names the limit when one schema makes all tools large', async () => {
    await expect(toolsOf(1_000, 300)).rejects.toThrow(
      'more than 32000000 characters of JSON, the limit for one document',
    )
  }, 60_000)
})
