/** A scripted agent completes twenty tasks with the 845 tools of GitHub by search alone, at a backend that checks requests; tokens of its first turn. */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Deployment, deploy, type ReadResponse, rpc } from '../fixtures/deployment.ts'
import { LARGE_DOCUMENTS, LARGE_INSTALLED } from '../fixtures/large-documents.ts'
import { KNOWN, type Step, TASKS } from './search-agent-tasks.ts'

const required = process.env.REQUIRE_SERVICES === '1'
const ENDPOINT = '/mcp/github?tools=search'
/** Maximum number of tools that one step tries: the limit of its search. */
const MAX_TRIED = 5

type Facts = { [name: string]: unknown }
interface Found {
  readonly name: string
  readonly required: readonly string[]
}

describe.skipIf(!LARGE_INSTALLED && !required)(
  'an agent with 845 tools (bring them: node scripts/corpus.mjs --install)',
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'github-'))
    let gateway: Deployment
    let token: string
    /** The request that the current step must lead to, and those that arrived. */
    let expected: Step
    const arrived: string[] = []
    const backend = createServer(async (request, response) => {
      const body = request.headers['content-type'] === undefined ? {} : await json(request).catch(() => ({}))
      const line = `${request.method} ${request.url!.split('?')[0]}`
      arrived.push(line)
      const fits = line === expected.request && isPart(expected.body ?? {}, body)
      response.writeHead(fits ? 200 : 404, { 'content-type': 'application/json' })
      response.end(JSON.stringify(fits ? (expected.response ?? {}) : { message: `unexpected: ${line}` }))
    })

    beforeAll(async () => {
      await new Promise<void>(resolve => backend.listen(0, '127.0.0.1', resolve))
      const { port } = backend.address() as AddressInfo
      mkdirSync(join(folder, 'configmaps/github'), { recursive: true })
      copyFileSync(
        LARGE_DOCUMENTS.find(([name]) => name === 'github')![1],
        join(folder, 'configmaps/github/api.json'),
      )
      const openAPISpec = { configMapRef: { name: 'github', key: 'api.json' } }
      const resource = {
        apiVersion: 'toolgate.dev/v1alpha1',
        kind: 'ToolSet',
        metadata: { name: 'github', namespace: 'platform' },
        spec: { displayName: 'GitHub', openAPISpec, baseURL: `http://127.0.0.1:${port}` },
      }
      writeFileSync(join(folder, 'github.yaml'), JSON.stringify(resource))
      gateway = await deploy({ TOOLSETS: folder })
      token = await gateway.token('demo-admin')
      for (let i = 0; i < 300 && (await ask('tools/list', {})).result.tools.length === 0; i++)
        await sleep(100)
    }, 60_000)
    afterAll(async () => {
      await gateway.stop()
      backend.close()
      rmSync(folder, { recursive: true, force: true })
    })

    const ask = async (method: string, params: object): Promise<ReadResponse['json']> =>
      (await gateway.post(ENDPOINT, rpc(method, params), token, { 'mcp-protocol-version': '2025-11-25' }))
        .json
    const call = async (name: string, args: object): Promise<ReadResponse['json']> =>
      (await ask('tools/call', { name, arguments: args })).result
    const textOf = (result: ReadResponse['json']): string => result.content[0].text

    /** Calls the found tools whose arguments are known, in their order, until one succeeds. */
    async function take(step: Step, facts: Facts): Promise<void> {
      expected = step
      const found = JSON.parse(
        textOf(await call('find_tools', { query: step.find, limit: MAX_TRIED })),
      ) as Found[]
      const values: Facts = { ...facts, ...step.set }
      const usable = found.filter(({ required: names }) => names.every(name => name in values))
      for (const { name } of usable) {
        const [{ inputSchema }] = JSON.parse(textOf(await call('describe_tools', { names: [name] })))
        const offered = Object.keys(inputSchema.properties).filter(argument => argument in values)
        if (!Object.keys(step.set ?? {}).every(argument => offered.includes(argument))) continue
        const args = Object.fromEntries(offered.map(argument => [argument, values[argument]]))
        const result = await call('call_tool', { name, arguments: args })
        if (result?.isError !== false) continue
        const response = JSON.parse(textOf(result))
        Object.assign(facts, step.set)
        for (const [argument, member] of Object.entries(step.keep ?? {})) facts[argument] = response[member]
        return
      }
      throw new Error(
        `nothing that was found for "${step.find}" fits: ${found.map(({ name }) => name).join(', ')}`,
      )
    }

    it.each(Object.entries(TASKS))('%s', async (_, steps) => {
      const facts: Facts = { ...KNOWN }
      const before = arrived.length
      for (const step of steps) await take(step, facts)
      // no request was made that the task did not need
      expect(arrived.slice(before)).toEqual(steps.map(({ request }) => request))
    })

    it('costs few tokens: list, search and definition of the first turn', async () => {
      const listed = JSON.stringify((await ask('tools/list', {})).result.tools)
      const found = textOf(await call('find_tools', { query: 'create an issue in a repository' }))
      const described = textOf(await call('describe_tools', { names: ['issues_create'] }))
      expect(countTokens(listed + found + described)).toBeLessThanOrEqual(3_000)
    })
  },
)

/** Whether the body has every member of `wanted`. */
function isPart(wanted: unknown, body: unknown): boolean {
  if (typeof wanted !== 'object' || wanted === null) return wanted === body
  return Object.entries(wanted).every(([name, value]) => isPart(value, (body as Facts | undefined)?.[name]))
}
