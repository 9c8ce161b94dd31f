/** Real MCP servers behind a gateway, with restarts and lost connections: reference servers, directly and over the bridge, FastMCP, the Go and Java SDK. */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { Bridge } from '../../src/bridge/bridge.ts'
import { type Deployment, deploy, rpc } from '../fixtures/deployment.ts'
import { type FaultyLink, startFaultyLink } from '../fixtures/faulty-link.ts'
import { freePort } from '../fixtures/free-ports.ts'
import { processEnv } from '../fixtures/process-env.ts'
import { servicesRequired } from '../fixtures/redis-server.ts'

const SERVERS = resolve('.tools/mcp-servers/node_modules/@modelcontextprotocol')
const FASTMCP = resolve('.tools/fastmcp/bin/python')
const GO = resolve('.tools/go-mcp/mcp-client')
const JAVA = resolve('.tools/java-mcp')
const NEEDED = [SERVERS, FASTMCP, GO, join(JAVA, 'Server.class')]
const missing = !NEEDED.every(path => existsSync(path)) && !servicesRequired()
/** Calls at once, each of another session. */
const SESSIONS = Number(process.env.MCP_SESSIONS ?? '10')
const VERSION = { 'mcp-protocol-version': '2025-11-25' }

const HINT = ' (brought by scripts/services.sh mcp-servers fastmcp go-mcp java-mcp)'
/** A tool of each server, to see that it responds. */
const TOOLS: { readonly [server: string]: { readonly tool: string; readonly args: object } } = {
  everything: { tool: 'echo', args: { message: 'x' } },
  fast: { tool: 'join', args: { parts: ['x'] } },
  go: { tool: 'add', args: { a: 1, b: 1 } },
  java: { tool: 'add', args: { a: 1, b: 1 } },
}

const server = (name: string): string => join(SERVERS, `server-${name}`, 'dist', 'index.js')

describe.skipIf(missing)(`MCP servers${HINT}`, () => {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-servers-'))
  const files = join(folder, 'files')
  const children = new Map<string, { readonly start: () => ChildProcess; child: ChildProcess }>()
  const bridges: Bridge[] = []
  let link: FaultyLink
  let gateway: Deployment
  let admin: string

  function run(name: string, command: string, args: string[], env: Record<string, string> = {}): void {
    const start = () => spawn(command, args, { env: { ...process.env, ...env }, stdio: 'ignore' })
    children.set(name, { start, child: start() })
  }

  async function restart(name: string): Promise<void> {
    const entry = children.get(name)!
    const ended = new Promise(done => entry.child.once('exit', done))
    entry.child.kill('SIGKILL')
    await ended
    entry.child = entry.start()
  }

  async function bridged(...args: string[]): Promise<string> {
    const bridge = new Bridge({
      command: {
        command: process.execPath,
        args,
        cwd: folder,
        env: { ...processEnv(), MEMORY_FILE_PATH: join(folder, 'memory.jsonl') },
      },
      host: '127.0.0.1',
      port: 0,
      maxSessions: SESSIONS + 10,
      idleMs: 600_000,
      log: () => {},
    })
    bridges.push(bridge)
    return bridge.listen()
  }

  beforeAll(async () => {
    mkdirSync(files)
    writeFileSync(join(files, 'hello.txt'), 'hello from a file')
    const ports: number[] = []
    for (let n = 0; n < 6; n++) ports.push(await freePort())
    const [streamable, sse, fast, fastSse, go, java] = ports
    run('everything', process.execPath, [server('everything'), 'streamableHttp'], {
      PORT: String(streamable),
    })
    run('everything-sse', process.execPath, [server('everything'), 'sse'], { PORT: String(sse) })
    const script = resolve('test/fixtures/fastmcp_server.py')
    run('fast', FASTMCP, [script, 'http', String(fast)])
    run('fast-sse', FASTMCP, [script, 'sse', String(fastSse)])
    run('go', GO, ['serve', String(go)])
    run('java', 'java', ['-XX:TieredStopAtLevel=1', '-cp', `${JAVA}:${JAVA}/*`, 'Server', String(java)])
    link = await startFaultyLink(`http://127.0.0.1:${streamable}`)
    const sources: Record<string, string> = {
      everything: `${link.url}/mcp`,
      'everything-sse': `http://127.0.0.1:${sse}/sse`,
      'everything-stdio': await bridged(server('everything')),
      filesystem: await bridged(server('filesystem'), files),
      memory: await bridged(server('memory')),
      fast: `http://127.0.0.1:${fast}/mcp`,
      'fast-sse': `http://127.0.0.1:${fastSse}/sse`,
      go: `http://127.0.0.1:${go}/mcp`,
      java: `http://127.0.0.1:${java}/mcp`,
    }
    const toolsets = join(folder, 'toolsets')
    mkdirSync(toolsets)
    for (const [name, url] of Object.entries(sources)) {
      const spec = {
        displayName: name,
        source: { mcp: { url, refreshInterval: '5s' } },
        naming: { prefix: `${name}_` },
      }
      const resource = {
        apiVersion: 'toolgate.dev/v1alpha1',
        kind: 'ToolSet',
        metadata: { name, namespace: 'platform' },
        spec,
      }
      writeFileSync(join(toolsets, `${name}.json`), JSON.stringify(resource))
    }
    gateway = await deploy({ TOOLSETS: toolsets, SSE_LIMITER_ENABLED: 'false' })
    admin = await gateway.token('demo-admin')
    await vi.waitUntil(
      async () =>
        new Set((await names()).map(name => name.split('_')[0])).size === Object.keys(sources).length,
      { timeout: 60_000, interval: 250 },
    )
  }, 120_000)
  afterAll(async () => {
    await gateway?.stop()
    await link?.close()
    await Promise.all(bridges.map(bridge => bridge.close()))
    for (const { child } of children.values()) child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  })

  const names = async (): Promise<string[]> =>
    (await gateway.post('/mcp', rpc('tools/list'), admin, VERSION)).json.result.tools.map(
      (tool: { name: string }) => tool.name,
    )

  async function call(name: string, args: object = {}) {
    return (await gateway.post('/mcp', rpc('tools/call', { name, arguments: args }), admin, VERSION)).json
      .result
  }

  it.each(['everything', 'everything-sse', 'everything-stdio'])(
    'the reference server %s: every kind of content',
    async name => {
      expect(await call(`${name}_echo`, { message: 'hi' })).toEqual({
        content: [{ type: 'text', text: 'Echo: hi' }],
        isError: false,
      })
      const image = await call(`${name}_get-tiny-image`)
      expect(image.content.map(({ type }: { type: string }) => type)).toEqual(['text', 'image', 'text'])
      const structured = await call(`${name}_get-structured-content`, { location: 'Chicago' })
      expect(structured.structuredContent).toMatchObject({ temperature: expect.any(Number) })
      const links = await call(`${name}_get-resource-links`, { count: 2 })
      expect(links.content.map(({ type }: { type: string }) => type)).toEqual([
        'text',
        'resource_link',
        'resource_link',
      ])
      const reference = await call(`${name}_get-resource-reference`, {
        resourceType: 'Text',
        resourceId: 1,
      })
      expect(reference.content.map(({ type }: { type: string }) => type)).toContain('resource')
      expect(await call(`${name}_get-sum`, { a: 1 })).toMatchObject({ isError: true })
    },
  )

  it('a client sees progress of a server, and a call that it cancels is rejected', async () => {
    const client = new Client({ name: 't', version: '1' })
    const requestInit = { headers: { authorization: `Bearer ${admin}` } }
    await client.connect(
      new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp`), { requestInit }) as never,
    )
    const steps: number[] = []
    const long = {
      name: 'everything_trigger-long-running-operation',
      arguments: { duration: 0.3, steps: 3 },
    }
    await client.callTool(long, undefined, { onprogress: ({ progress }) => steps.push(progress) })
    expect(steps).toEqual([1, 2, 3])
    const sent: string[] = []
    link.watch(text => sent.push(text))
    const stop = new AbortController()
    const cancelled = client.callTool({ ...long, arguments: { duration: 60, steps: 600 } }, undefined, {
      signal: stop.signal,
      onprogress: () => stop.abort(),
    })
    await expect(cancelled).rejects.toThrow()
    // the client ends the call by itself: what counts is that the gateway passes the cancellation on to the server
    const received = (method: string) =>
      sent
        .flatMap(text => text.match(/\{"jsonrpc".*\}/g) ?? [])
        .map(text => JSON.parse(text))
        .filter(message => message.method === method)
    await expect.poll(() => received('notifications/cancelled')).toHaveLength(1)
    const [calls, [cancellation]] = [received('tools/call'), received('notifications/cancelled')]
    expect(calls).toHaveLength(1)
    expect(cancellation.params.requestId).toBe(calls[0].id)
    await client.close()
  })

  it('files and memory over the bridge', async () => {
    expect(
      (await call('filesystem_read_text_file', { path: join(files, 'hello.txt') })).content[0].text,
    ).toBe('hello from a file')
    expect(await call('filesystem_read_text_file', { path: '/etc/passwd' })).toMatchObject({
      isError: true,
    })
    const entity = { name: 'gate', entityType: 'thing', observations: ['open'] }
    await call('memory_create_entities', { entities: [entity] })
    expect((await call('memory_read_graph')).structuredContent.entities).toContainEqual(entity)
  })

  it.each(['fast', 'fast-sse'])('FastMCP: %s', async name => {
    expect((await call(`${name}_join`, { parts: ['a', 'b'] })).structuredContent).toEqual({ result: 'a b' })
    expect(await call(`${name}_join`, { parts: 1 })).toMatchObject({ isError: true })
  })

  it.each(['go', 'java'])('the SDK of %s', async name => {
    expect(await call(`${name}_add`, { a: 2, b: 0.5 })).toMatchObject({
      structuredContent: { sum: 2.5 },
      isError: false,
    })
    expect(await call(`${name}_fail`)).toEqual({
      content: [{ type: 'text', text: 'it failed' }],
      isError: true,
    })
    expect(await call(`${name}_add`, { a: 2 })).toMatchObject({ isError: true })
  })

  it(`${SESSIONS} sessions at once`, async () => {
    const results = await Promise.all(
      Array.from({ length: SESSIONS }, async (_, n) => {
        const client = new Client({ name: 't', version: '1' })
        const requestInit = { headers: { authorization: `Bearer ${admin}` } }
        await client.connect(
          new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp`), { requestInit }) as never,
        )
        const result = await client.callTool({ name: 'everything_echo', arguments: { message: String(n) } })
        await client.close()
        return (result.content as { text: string }[])[0]!.text
      }),
    )
    expect(results).toEqual(results.map((_, n) => `Echo: ${n}`))
  })

  it.each(['everything', 'everything-sse', 'fast', 'fast-sse', 'go', 'java'])(
    '%s is called again after it was killed and started',
    async name => {
      await restart(name)
      const { tool, args } = TOOLS[name.split('-')[0]!]!
      await expect
        .poll(async () => (await call(`${name}_${tool}`, args)).isError, { timeout: 30_000, interval: 250 })
        .toBe(false)
      expect((await names()).some(listed => listed.startsWith(`${name}_`))).toBe(true)
    },
  )

  it('calls between dropped connections succeed, and those that were cut say that their effect is unknown', async () => {
    const texts: string[] = []
    for (let n = 0; n < 20; n++) {
      if (n % 5 === 4) link.reset()
      texts.push((await call('everything_echo', { message: String(n) })).content[0].text)
    }
    const succeeded = texts.filter((text, n) => text === `Echo: ${n}`)
    expect(succeeded.length).toBeGreaterThanOrEqual(16)
    for (const text of texts) expect(text).toMatch(/^Echo: |unknown/)
  })
})
