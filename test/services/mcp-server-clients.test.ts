/**
 * The clients of the matrix (all with CHECK=long) call an MCP server through the gateway while connections on both sides are reset and the server
 * restarts: the server executes each call once. Many sessions at once, again and again, let the heap of the gateway grow by less than 3 MB.
 */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type DevProvider, startDevProvider } from '../../src/identity/dev-provider/dev-provider.ts'
import { SILENT } from '../../src/telemetry/log.ts'
import { IS_LONG_CHECK } from '../fixtures/check.ts'
import { runClient } from '../fixtures/client-process.ts'
import { CLIENT_PROGRAMS, installation, PYTHON_PROGRAMS } from '../fixtures/client-programs.ts'
import { meetAll, type Step } from '../fixtures/clients/refusals.mjs'
import { type FaultyLink, startFaultyLink } from '../fixtures/faulty-link.ts'
import { type GatewayProcess, startGatewayProcess } from '../fixtures/gateway-process.ts'
import { connectClient, SECOND_GENERATION } from '../fixtures/mcp-clients.ts'
import { type ServedMcp, startMcpServer } from '../fixtures/mcp-server.ts'
import { servicesRequired } from '../fixtures/redis-server.ts'
import { clientToken } from '../fixtures/tokens.ts'

/** A client repeats a call that often, unless it fails; the last one is an error of the tool, with which it ends. */
const CALLS = 5
/** The call that meets a fault, or after which the fault happens. */
const STRUCK = 3
/** Sessions at once, and how often. */
const SESSIONS = Number(process.env.MCP_SESSIONS ?? '20')
const ROUNDS = Number(process.env.MCP_ROUNDS ?? '4')
/** After garbage collections. With MCP_SESSIONS=100, sessions that are kept would cost each round more. */
const MAX_GROWTH_BYTES = 3_000_000

/** What happens to the call, and what its user reads. */
const FAULTS = {
  none: /^recorded 5$/,
  'connections to the server are reset between calls': /^recorded 5$/,
  'the server restarts between calls': /^recorded 5$/,
  'the connection to the server is reset during a call': /may have executed the request/,
  'connections of the client are reset during a call': /./,
} as const
type Fault = keyof typeof FAULTS

const root = mkdtempSync(join(tmpdir(), 'server-clients-'))
/** Step → calls that the server executed. */
const executed = new Map<string, number>()
/** Steps whose fault happened between calls. */
const struck = new Set<string>()
let provider: DevProvider
let server: ServedMcp
let serverLink: FaultyLink
let gateway: GatewayProcess
let clientLink: FaultyLink
let token: string

function recordingServer(): McpServer {
  const made = new McpServer({ name: 'recording', version: '1' })
  const inputSchema = { step: z.string(), fault: z.string() }
  made.registerTool('record', { description: 'Records a call.', inputSchema }, async ({ step, fault }) => {
    const count = (executed.get(step) ?? 0) + 1
    executed.set(step, count)
    if (count === STRUCK) await strike(step, fault as Fault)
    return { content: [{ type: 'text', text: `recorded ${count}` }], isError: count === CALLS }
  })
  made.registerTool('echo', { description: 'Echoes.', inputSchema: { text: z.string() } }, ({ text }) => ({
    content: [{ type: 'text', text }],
  }))
  return made
}

/** Between calls: when the gateway has sent the response, and before the client, which waits for it, calls again. */
async function strike(step: string, fault: Fault): Promise<void> {
  const between = (what: () => void | Promise<void>) =>
    clientLink.holdAt(`recorded ${STRUCK}`, async () => {
      await what()
      struck.add(step)
      // the gateway notices it before the next call
      await sleep(250)
    })
  if (fault === 'connections to the server are reset between calls') between(() => serverLink.reset())
  if (fault === 'the server restarts between calls') between(restartServer)
  if (fault === 'the connection to the server is reset during a call') serverLink.reset()
  if (fault === 'connections of the client are reset during a call') clientLink.reset()
}

/** A new server at the same address, as after a restart: it has no session. */
async function restartServer(): Promise<void> {
  const port = Number(new URL(server.url).port)
  await server.close()
  server = await startMcpServer({ make: recordingServer, port })
}

beforeAll(async () => {
  provider = await startDevProvider({ host: '127.0.0.1', port: 0, dataDir: join(root, 'idp'), log: SILENT })
  token = await clientToken(provider.issuer, 'demo-admin')
  server = await startMcpServer({ make: recordingServer })
  serverLink = await startFaultyLink(server.url)
  const toolSets = join(root, 'toolsets')
  mkdirSync(toolSets)
  const source = { mcp: { url: `${serverLink.url}/mcp` } }
  const toolSet = {
    apiVersion: 'toolgate.dev/v1alpha1',
    kind: 'ToolSet',
    metadata: { name: 'recording', namespace: 'platform' },
    spec: { displayName: 'Recording', source, naming: { prefix: 'r_' } },
  }
  writeFileSync(join(toolSets, 'recording.json'), JSON.stringify(toolSet))
  const plans = join(root, 'plans.yaml')
  writeFileSync(plans, 'plans: { free: { name: Free } }\nconsumers: { demo-admin: free }\n')
  const env = { AUTH_ISSUER: provider.issuer, TOOLSETS: toolSets, PLANS: plans }
  gateway = await startGatewayProcess({ ...env, EXAMPLE: 'false', SSE_LIMITER_ENABLED: 'false' })
  clientLink = await startFaultyLink(gateway.url)
}, 60_000)
afterAll(async () => {
  await clientLink?.close()
  await gateway?.stop()
  await serverLink?.close()
  await server?.close()
  await provider?.close()
  rmSync(root, { recursive: true, force: true })
})

const stepsOf = (client: string): Step[] =>
  Object.keys(FAULTS).map(fault => ({
    label: fault,
    token,
    name: 'r_record',
    arguments: { step: `${client}: ${fault}`, fault },
  }))

function expectOnce(client: string, seen: { readonly [label: string]: unknown }): void {
  for (const [fault, text] of Object.entries(FAULTS)) {
    const { result, error, lives } = seen[fault] as { result?: string; error?: string; lives: boolean }
    const count = executed.get(`${client}: ${fault}`)
    const what = `${fault}: ${JSON.stringify(seen[fault])}`
    if (fault.endsWith('between calls')) expect.soft(struck, what).toContain(`${client}: ${fault}`)
    expect.soft(result ?? error, what).toMatch(text)
    if (fault !== 'connections of the client are reset during a call') expect.soft(lives, what).toBe(true)
    // a call whose end is not known is not repeated
    expect.soft(count, what).toBe(result === `recorded ${CALLS}` ? CALLS : STRUCK)
  }
}

/** Only with CHECK=long. */
const EXTRA = /SSE|auto|LangChain/
const isRun = (name: string): boolean => IS_LONG_CHECK || !EXTRA.test(name)

describe('an MCP server', { timeout: 120_000 }, () => {
  for (const [name, program] of Object.entries({ ...CLIENT_PROGRAMS, ...PYTHON_PROGRAMS })) {
    if (!isRun(name)) continue
    const { missing, hint } = installation(program)
    it.skipIf(missing)(`executes each call of ${name} once${hint}`, async () => {
      const scenario = JSON.stringify(stepsOf(name))
      const command = [...program.command, `${clientLink.url}/mcp`, 'none', program.kind, scenario]
      expectOnce(name, await runClient(command))
    })
  }

  const noSecond = !existsSync(SECOND_GENERATION) && !servicesRequired()
  for (const [generation, kind, mode] of [
    [1, 'streamable', undefined],
    [1, 'sse', undefined],
    [2, 'streamable', 'legacy'],
    [2, 'streamable', 'auto'],
  ] as const) {
    const name = `TypeScript v${generation}, ${kind}${mode === undefined ? '' : ` ${mode}`}`
    const hint = noSecond && generation === 2 ? ' (skipped: scripts/services.sh conformance)' : ''
    it.skipIf(generation === 2 && noSecond)(`executes each call of ${name} once${hint}`, async () => {
      let seen = {}
      const connect = async () => {
        const client = await connectClient(generation, kind, `${clientLink.url}/mcp`, token, mode)
        return { call: client.call, list: client.list, close: client.end }
      }
      await meetAll(stepsOf(name), connect, what => {
        seen = { ...seen, ...what }
      })
      expectOnce(name, seen)
    })
  }
})

it(`${SESSIONS} sessions at once, ${ROUNDS} times: each reads its responses, and memory stays flat`, async () => {
  const round = async (at: number): Promise<void> => {
    await Promise.all(
      Array.from({ length: SESSIONS }, async (_, n) => {
        const client = await connectClient(1, 'streamable', `${gateway.url}/mcp`, token)
        for (let call = 0; call < 3; call++) {
          const text = `${at} ${n} ${call}`
          expect((await client.call('r_echo', { text })).content).toEqual([{ type: 'text', text }])
        }
        await client.end()
      }),
    )
  }
  // first what is created once: pools, caches, compiled code
  for (let at = 0; at < 3; at++) await round(at)
  const before = await gateway.memory()
  for (let at = 0; at < ROUNDS; at++) await round(at)
  const after = await gateway.memory()
  console.info(
    `heap ${before.heapBytes} then ${after.heapBytes}, rss ${before.rssBytes} then ${after.rssBytes}`,
  )
  expect(after.heapBytes - before.heapBytes).toBeLessThan(MAX_GROWTH_BYTES)
}, 120_000)
