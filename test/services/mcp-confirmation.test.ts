/** Calls that the policy has the user confirm, or asks questions about, with the official clients of both eras: what the user sees and the backend gets. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { existsSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { resolve } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { findOpa, OPA_VERSION } from '../../src/policy/workshop/opa.ts'
import { deployConformance } from '../fixtures/conformance/deploy.ts'
import type { Deployment, ReadResponse } from '../fixtures/deployment.ts'
import {
  connectClient,
  type Elicit,
  type McpClient,
  type Question,
  SECOND_GENERATION,
} from '../fixtures/mcp-clients.ts'
import { servicesRequired } from '../fixtures/redis-server.ts'

const opa = await findOpa(resolve('.tools/bin'), process.env)
const missing = (!existsSync(SECOND_GENERATION) || opa === undefined) && !servicesRequired()
const HINT = `needs the clients (scripts/services.sh conformance) and opa ${OPA_VERSION} (npm run policy:test)`

type Connect = (elicit?: Elicit) => Promise<McpClient>

/** Its operation deletes, and the policy requires a confirmation. */
const DESTROY = 'test_elicitation'
const YES = { action: 'accept', content: { confirm: true } }

describe.skipIf(missing)(`confirmations: ${HINT}`, { timeout: 90_000 }, () => {
  let gateway: Deployment
  let token: string
  let client: McpClient | undefined
  /** Targets of the requests the backend got. */
  let reached: string[]
  const watch = (message: unknown): void => {
    const { request } = message as { request: IncomingMessage }
    if (request.method === 'DELETE' || request.url!.startsWith('/asks')) reached.push(request.url!)
  }
  beforeAll(async () => {
    if (opa === undefined) throw new Error(HINT)
    subscribe('http.server.request.start', watch)
    gateway = await deployConformance(opa)
    token = await gateway.token('demo-admin')
  }, 60_000)
  afterAll(async () => {
    unsubscribe('http.server.request.start', watch)
    await gateway?.stop()
  })
  beforeEach(() => {
    reached = []
  })
  afterEach(async () => {
    await client?.end().catch(() => undefined)
    client = undefined
  })

  async function callsInFlight(): Promise<number> {
    const metrics = await (await fetch(`${gateway.running.addresses.metrics_url}/metrics`)).text()
    return Number(/^platform_calls_in_flight(?:{.*})? (\d+)$/m.exec(metrics)![1])
  }

  const clients: readonly (readonly [string, Connect])[] = [
    [
      'v1 streamable',
      elicit => connectClient(1, 'streamable', `${gateway.url}/mcp`, token, undefined, elicit),
    ],
    ['v1 SSE', elicit => connectClient(1, 'sse', `${gateway.url}/mcp/sse`, token, undefined, elicit)],
    ['v2 legacy', elicit => connectClient(2, 'streamable', `${gateway.url}/mcp`, token, 'legacy', elicit)],
    [
      'v2 pinned to 2026-07-28',
      elicit => connectClient(2, 'streamable', `${gateway.url}/mcp`, token, { pin: '2026-07-28' }, elicit),
    ],
  ]

  describe.each(clients)('%s', (kind, connect) => {
    it('shows the exact call, and what was confirmed is called, once and as shown', async () => {
      const seen: Question[] = []
      client = await connect(question => {
        seen.push(question)
        return YES
      })
      const result = await client.call(DESTROY, { message: 'row 7' })
      expect(result).toMatchObject({ isError: false, content: [{ text: 'Destroyed.' }] })
      expect(seen).toHaveLength(1)
      expect(seen[0]!.message).toBe(`This destroys something.\n${DESTROY} {"message":"row 7"}`)
      expect(reached).toEqual(['/elicitation?message=row%207'])
      // one yes is good for one call
      await client.call(DESTROY, { message: 'row 8' })
      expect(seen).toHaveLength(2)
    })

    it.each([
      ['declines', { action: 'decline' }],
      ['closes the question', { action: 'cancel' }],
      ['accepts without saying yes', { action: 'accept', content: { confirm: false } }],
    ])('whose user %s does not reach the backend, and the model gets the reason', async (_name, response) => {
      client = await connect(() => response)
      const result = await client.call(DESTROY, { message: 'row 7' })
      expect(result).toMatchObject({
        isError: true,
        content: [{ text: 'The client did not confirm the call.' }],
      })
      expect(reached).toEqual([])
    })

    it('without the capability is rejected with the reason', async () => {
      client = await connect()
      const called = client.call(DESTROY, { message: 'row 7' })
      // the modern era has an error for it (-32021); before, a refused call is a result
      if (kind.includes('2026'))
        await expect(called).rejects.toThrow(/has not declared these capabilities: elicitation/)
      else
        expect(await called).toMatchObject({
          isError: true,
          content: [{ text: expect.stringMatching(/elicitation|cannot be/) }],
        })
      expect(reached).toEqual([])
    })

    it('responds to the questions of a policy, one after the other, before the call', async () => {
      const seen: string[] = []
      client = await connect(({ message, requestedSchema }) => {
        seen.push(message)
        const field = Object.keys(requestedSchema.properties)[0]!
        return { action: 'accept', content: { [field]: field === 'name' ? 'Ada' : 'blue' } }
      })
      const result = await client.call('test_input_required_result_multi_round', {})
      expect(result.isError).toBe(false)
      expect(seen).toEqual(['What is your name?', 'What is your favourite colour, Ada?'])
      expect(reached).toEqual(['/asks/rounds'])
    })
  })

  // in the modern era no call is open while the user thinks
  it.each(clients.slice(0, 3))(
    '%s that takes the call back while its user thinks leaves no one waiting',
    async (_, connect) => {
      const stop = new AbortController()
      client = await connect(() => {
        stop.abort()
        return new Promise(() => {})
      })
      await expect(client.call(DESTROY, { message: 'row 7' }, { signal: stop.signal })).rejects.toThrow()
      await vi.waitFor(async () => expect(await callsInFlight()).toBe(0), 15_000)
      expect(reached).toEqual([])
    },
  )

  describe('a state of the modern era', () => {
    const KEY = 'io.modelcontextprotocol'
    let id = 0
    async function call(name: string, args: object, more: object = {}): Promise<ReadResponse> {
      const _meta = {
        [`${KEY}/protocolVersion`]: '2026-07-28',
        [`${KEY}/clientCapabilities`]: { elicitation: {} },
      }
      id++
      const params = { name, arguments: args, ...more, _meta }
      const headers = {
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': name,
      }
      return gateway.post('/mcp', { jsonrpc: '2.0', id, method: 'tools/call', params }, token, headers)
    }
    async function asked(args: object): Promise<{ requestState: string; inputResponses: object }> {
      const { result } = (await call(DESTROY, args)).json
      expect(result).toMatchObject({
        resultType: 'input_required',
        inputRequests: { confirm: { method: 'elicitation/create' } },
      })
      return { requestState: result.requestState, inputResponses: { confirm: YES } }
    }

    it('is good for the arguments it was given out for and no others', async () => {
      const good = await asked({ message: 'row 7' })
      expect((await call(DESTROY, { message: 'row 8' }, good)).json.error).toMatchObject({ code: -32602 })
      expect((await call('test_streaming_elicitation', {}, good)).json.error).toMatchObject({ code: -32602 })
      expect(reached).toEqual([])
      expect((await call(DESTROY, { message: 'row 7' }, good)).json.result).toMatchObject({
        resultType: 'complete',
        isError: false,
      })
      expect(reached).toHaveLength(1)
    })

    it('is needed: a yes in advance confirms nothing', async () => {
      const early = await call(DESTROY, { message: 'row 7' }, { inputResponses: { confirm: YES } })
      expect(early.json.result.resultType).toBe('input_required')
      expect(reached).toEqual([])
    })

    it('of a question does not confirm', async () => {
      const first = (await call('test_input_required_result_multi_round', {})).json.result
      const { requestState } = first
      const response = await call(DESTROY, {}, { requestState, inputResponses: { confirm: YES } })
      expect(response.json.error ?? response.json.result.isError).toBeTruthy()
      expect(reached).toEqual([])
    })
  })
})
