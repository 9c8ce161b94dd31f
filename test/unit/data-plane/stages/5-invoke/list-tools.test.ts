/** Which callers share a cached list of tools: those that the policy does not distinguish, none with a policy server; and suggestions. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import type { ToolListing } from '../../../../../src/data-plane/snapshot/snapshot.ts'
import { refuseUnknownTool } from '../../../../../src/data-plane/stages/3-limit/refuse-unknown-tool.ts'
import { listTools } from '../../../../../src/data-plane/stages/5-invoke/list-tools.ts'
import type { Principal } from '../../../../../src/model/principal.ts'
import { createEgress } from '../../../../../src/net/egress/client.ts'
import type { PolicyInput, PreparedPolicy } from '../../../../../src/policy/engine.ts'
import { tighten } from '../../../../../src/policy/live/tightened.ts'
import { createOpaHttpEngine } from '../../../../../src/policy/opa-http/engine.ts'
import { createOpaWasmEngine } from '../../../../../src/policy/opa-wasm/engine.ts'
import { aPolicy, aPrincipal, aSnapshot, aTool, exchange } from '../../../../fixtures/exchange.ts'
import { altered, manifestWith } from '../../../../fixtures/policy/inputs.ts'

const SHIPPED_READS = ['action.name', 'resource', 'subject.properties.roles', 'subject.properties.scopes']
const TOOLS = [aTool(), aTool({ name: 'delete_order', annotations: {} as never })]

/** The shipped policy, declared to read these as well. */
function policyReading(...paths: string[]): Promise<PreparedPolicy> {
  const manifest = manifestWith(content => {
    const annotations = [{ custom: { reads: [...SHIPPED_READS, ...paths] } }]
    content.wasm = [{ entrypoint: 'toolgate/decision', module: 'policy.wasm', annotations }]
  })
  return createOpaWasmEngine({ maxEvaluationMs: 500 }).prepare(altered({ '.manifest': manifest }))
}

interface Caller extends Partial<Principal> {
  readonly access?: 'rest' | 'jsonrpc'
  readonly atMs?: number
}

function lists(policy: PreparedPolicy) {
  const snapshot = aSnapshot({ tools: TOOLS }, policy)
  const stage = listTools()
  return async ({ access = 'rest', atMs = 1_700_000_000_000, ...fields }: Caller): Promise<ToolListing> => {
    const x = exchange({ snapshot, access, receivedAtMs: atMs })
    x.principal = aPrincipal(fields)
    x.tenant = x.principal.tenant
    expect(await stage.run(x)).toBeUndefined()
    return x.listing!
  }
}

describe('a kept list', () => {
  it.each<[string, string, Caller]>([
    ['subject.id', 'another user', { subject: 'other' }],
    ['subject.properties.consumer', 'another application', { consumer: 'other' }],
    ['subject.type', 'a key', { kind: 'api_key' }],
    ['context.access', 'another way in', { access: 'jsonrpc' }],
    ['context.time', 'the same caller a moment later', { atMs: 1_700_000_000_001 }],
  ])('is not shared where the policy reads %s: %s', async (path, _, other) => {
    const list = lists(await policyReading(path))
    expect(await list(other)).not.toBe(await list({}))
    const shared = lists(await policyReading())
    expect(await shared(other)).toBe(await shared({}))
  })

  it('serves the same caller again, also where the policy reads arguments', async () => {
    const list = lists(await policyReading('subject.id', 'context.arguments', 'context.answers'))
    expect(await list({})).toBe(await list({}))
  })

  it('is not kept where the policy does not declare what it reads', async () => {
    const manifest = manifestWith(content => {
      content.wasm = [{ entrypoint: 'toolgate/decision', module: 'policy.wasm' }]
    })
    const policy = await createOpaWasmEngine().prepare(altered({ '.manifest': manifest }))
    const list = lists(policy)
    expect(await list({})).not.toBe(await list({}))
  })

  it('is shared under the bundle of a tenant as both bundles permit', async () => {
    const plain = await policyReading()
    const personal = await policyReading('subject.id')
    const timed = await policyReading('context.time')
    const under = (platform: PreparedPolicy, tenant: PreparedPolicy) =>
      lists(tighten(platform, new Map([['acme', tenant]])))
    for (const list of [under(plain, personal), under(personal, plain), under(personal, personal)]) {
      expect(await list({})).toBe(await list({}))
      expect(await list({ subject: 'other' })).not.toBe(await list({}))
    }
    for (const list of [under(plain, timed), under(timed, plain)])
      expect(await list({})).not.toBe(await list({}))
    const ofOthers = lists(tighten(plain, new Map([['globex', personal]])))
    expect(await ofOthers({ subject: 'other' })).toBe(await ofOthers({}))
  })

  it('is of one kind, whatever a tenant is called', async () => {
    const snapshot = aSnapshot({ tools: TOOLS })
    const run = (action: 'tools.list' | 'prompts.list', tenant: string) => {
      const x = exchange({ snapshot, operation: { action } })
      x.principal = aPrincipal()
      x.tenant = tenant
      listTools().run(x)
      return x.listing
    }
    expect(run('tools.list', 'prompts.list')).not.toBe(run('prompts.list', 'acme'))
  })
})

describe('suggestions for an unknown tool', () => {
  it('are from the list of the same caller', async () => {
    const policy = aPolicy(({ subject }) => ({ allow: subject.id === 'admin' }))
    const snapshot = aSnapshot(
      { tools: TOOLS },
      { ...policy, listKey: (key, input) => `${key} ${input().subject.id}` },
    )
    const suggested = async (subject: string) => {
      const operation = { action: 'tools.call', tool: 'delete_ordr', arguments: {} } as const
      const [listing, calling] = [exchange({ snapshot }), exchange({ snapshot, operation })]
      for (const x of [listing, calling]) {
        x.principal = aPrincipal({ subject })
        x.tenant = 'acme'
      }
      await listTools().run(listing)
      return refuseUnknownTool().run(calling)
    }
    expect(await suggested('admin')).toMatchObject({
      message: expect.stringContaining('Similar names: delete_order'),
    })
    expect(await suggested('user')).toMatchObject({ message: 'Tool not found: delete_ordr' })
  })
})

describe('with a policy server', () => {
  const servers: Server[] = []
  const egress = createEgress({ allow: [], allowLoopback: true })
  afterEach(async () => {
    for (const server of servers.splice(0)) await new Promise(closed => server.close(closed))
    await egress.close()
  })

  it('each caller sees what the server allows this caller now', async () => {
    let open = new Set(['admin'])
    const server = createServer((request, response) => {
      let body = ''
      request.on('data', chunk => (body += String(chunk)))
      request.on('end', () => {
        const { input } = JSON.parse(body) as { input: PolicyInput }
        response.setHeader('connection', 'close')
        response.end(JSON.stringify({ result: { allow: open.has(input.subject.id), reasons: [] } }))
      })
    })
    servers.push(server)
    await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening))
    const { port } = server.address() as AddressInfo
    const url = `http://127.0.0.1:${port}/v1/data/toolgate/decision`
    const list = lists(await createOpaHttpEngine({ url, egress, timeoutMs: 5000 }).prepare(new Uint8Array()))
    const names = async (subject: string) => (await list({ subject })).tools.map(({ tool }) => tool.name)
    expect(await Promise.all([names('admin'), names('user')])).toEqual([['delete_order', 'get_order'], []])
    open = new Set(['user'])
    expect(await Promise.all([names('admin'), names('user')])).toEqual([[], ['delete_order', 'get_order']])
  })
})
