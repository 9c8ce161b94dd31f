/** Damage to files in DATA_DIR: the next start reports it, or ends and names the file; no limit is granted again. CHECK=long does all that applies. */

import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Addresses } from '../../src/app/main.ts'
import { copyTemplate } from '../contract/store/pglite-template.ts'
import { IS_LONG_CHECK } from '../fixtures/check.ts'
import { post } from '../fixtures/deployment.ts'
import { FREE_PORTS } from '../fixtures/free-ports.ts'
import { processEnv } from '../fixtures/process-env.ts'
import { signedToken } from '../fixtures/tokens.ts'

const REPOSITORY = join(import.meta.dirname, '../..')
const CALL = { name: 'list', arguments: {} }
const DAILY_LIMIT = 5
/** Not one of the seeded clients, whose plans the control plane assigns. */
const CONSUMER = 'limited-agent'

const DAMAGES: { readonly [name: string]: (bytes: Buffer) => Buffer } = {
  // three bytes before the middle, which can be the end of an event
  truncated: bytes => bytes.subarray(0, Math.max(0, Math.floor(bytes.length / 2) - 3)),
  emptied: () => Buffer.alloc(0),
  // in the middle of the file
  'bits flipped': bytes =>
    Buffer.from(bytes.map((byte, at) => (at === bytes.length >> 1 ? byte ^ 0x15 : byte))),
  garbage: bytes => Buffer.alloc(Math.max(bytes.length, 16), '\u0007'),
}

/** The first file below the directory whose path matches. */
function fileOf(dir: string, path: RegExp): string {
  const found = (readdirSync(dir, { recursive: true }) as string[]).find(file => path.test(file))
  if (found === undefined) throw new Error(`no file in DATA_DIR matches ${path}`)
  return join(dir, found)
}

/** One tool whose document and backend are this server; it runs for all starts. */
async function serveToolSet(directory: string): Promise<Server> {
  const operation = { operationId: 'list', responses: { 200: { description: 'done' } } }
  const server = createServer((request, response) => {
    const document = {
      openapi: '3.0.3',
      info: { title: 'Damage', version: '1' },
      paths: { '/list': { get: operation } },
    }
    const isDocument = request.url === '/openapi.json'
    response.setHeader('content-type', 'application/json').end(isDocument ? JSON.stringify(document) : '[]')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const toolSet = {
    apiVersion: 'toolgate.dev/v1alpha1',
    kind: 'ToolSet',
    metadata: { name: 'damage', namespace: 'tenant-acme' },
    spec: {
      displayName: 'Damage',
      openAPISpec: { url: `${url}/openapi.json` },
      baseURL: url,
      toolDefaults: { authentication: { type: 'none' } },
      naming: { useOperationId: true },
    },
  }
  mkdirSync(directory)
  writeFileSync(join(directory, 'damage.yaml'), JSON.stringify(toolSet))
  return server
}

/** `toolgate serve`, with everything it prints. */
class Started {
  output = ''
  code: number | null | undefined
  addresses: Addresses | undefined
  readonly #child: ChildProcess
  readonly #dataDir: string

  constructor(dataDir: string, plans: string, toolSets: string) {
    this.#dataDir = dataDir
    this.#child = spawn(process.execPath, [join(REPOSITORY, 'dist/cli/index.js'), 'serve'], {
      cwd: REPOSITORY,
      env: {
        ...processEnv(),
        ...FREE_PORTS,
        DATA_DIR: dataDir,
        PLANS: plans,
        TOOLSETS: toolSets,
        LOG_LEVEL: 'warn',
        WORKERS: '1',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const read = (chunk: Buffer): void => {
      this.output += chunk.toString()
      const ready = /^\{"ready.*\}$/m.exec(this.output)
      if (ready !== null) this.addresses ??= JSON.parse(ready[0]) as Addresses
    }
    this.#child.stdout!.on('data', read)
    this.#child.stderr!.on('data', read)
    this.#child.once('close', code => {
      this.code = code
    })
  }

  /** Ready, or ended. */
  async settled(): Promise<this> {
    while (this.addresses === undefined && this.code === undefined) await sleep(20)
    return this
  }

  async call(): Promise<number> {
    const { auth_url, gateway_url } = this.addresses!
    const token = await signedToken(this.#dataDir, auth_url, { id: CONSUMER, tenant: 'acme' })
    return (await post(`${gateway_url}/mcp/v1/tools/invoke`, CALL, token)).status
  }

  async health(): Promise<{ readonly status: string; readonly reason?: string; readonly parts?: string[] }> {
    return (await fetch(`${this.addresses!.gateway_url}/mcp/health`)).json() as Promise<{ status: string }>
  }

  async stop(): Promise<void> {
    if (this.code === undefined) this.#child.kill('SIGTERM')
    while (this.code === undefined) await sleep(20)
  }
}

describe('damage to the files of a gateway', () => {
  let root: string
  let used: string
  let plans: string
  let toolSets: string
  let documents: Server

  const start = (dataDir: string): Promise<Started> => new Started(dataDir, plans, toolSets).settled()

  function copyOfUsed(): string {
    const dataDir = mkdtempSync(join(root, 'copy-'))
    cpSync(used, dataDir, { recursive: true })
    return dataDir
  }

  /** The consumer's day is used up, and the process has ended. */
  beforeAll(async () => {
    root = mkdtempSync(join(tmpdir(), 'damaged-'))
    used = join(root, 'used')
    plans = join(root, 'plans.yaml')
    const limits = { narrow: { perDay: DAILY_LIMIT, perMonth: 1_000 } }
    writeFileSync(plans, JSON.stringify({ plans: limits, consumers: { [CONSUMER]: 'narrow' } }))
    await copyTemplate(join(used, 'postgres'))
    toolSets = join(root, 'toolsets')
    documents = await serveToolSet(toolSets)
    const gateway = await start(used)
    for (let call = 0; call < DAILY_LIMIT; call++) expect(await gateway.call()).toBe(200)
    expect(await gateway.call()).toBe(429)
    await gateway.stop()
  }, 120_000)
  afterAll(() => {
    documents.close()
    rmSync(root, { recursive: true, force: true })
  })

  async function startWith(
    path: RegExp,
    damage: string,
    without?: RegExp,
  ): Promise<{ started: Started; file: string; dataDir: string }> {
    const dataDir = copyOfUsed()
    if (without !== undefined) rmSync(fileOf(dataDir, without))
    const file = fileOf(dataDir, path)
    writeFileSync(file, DAMAGES[damage]!(readFileSync(file)))
    return { started: await start(dataDir), file, dataDir }
  }

  test('no damage: the day stays used up, and health is not degraded', async () => {
    const started = await start(copyOfUsed())
    expect((await started.health()).status).toBe('healthy')
    expect(await started.call()).toBe(429)
    await started.stop()
  }, 60_000)

  test.each(IS_LONG_CHECK ? Object.keys(DAMAGES) : ['bits flipped', 'emptied'])(
    'quota journal %s: reported by log, health and metric; no limit is granted again',
    async damage => {
      const { started, file } = await startWith(/^quota\/notes-.*\.log$/, damage)
      expect(started.output).toContain(file)
      const health = await started.health()
      expect(health.status).toBe('degraded')
      expect(health.parts).toContain('quota journal')
      expect(started.output).toContain('/reset')
      const metrics = await (await fetch(`${started.addresses!.metrics_url}/metrics`)).text()
      expect(metrics).toMatch(/^platform_quota_assumed 1$/m)
      expect(await started.call()).toBe(429)
      await started.stop()
    },
    60_000,
  )

  interface Kind {
    readonly file: RegExp
    readonly damages: readonly string[]
    /** `ends`: the start ends with 78 and names the file; `reports`: it goes on, the log names the file, health and metric the part. */
    readonly outcome: 'ends' | 'reports'
    /** Deleted, so that the file is read. */
    readonly without?: RegExp
    /** What the output names instead of the file. */
    readonly named?: RegExp
  }
  const ALL = Object.keys(DAMAGES)
  const DATABASE = { damages: ALL, outcome: 'ends', named: /^postgres$/ } as const
  const KINDS: { readonly [name: string]: Kind } = {
    'seed of the quota journal': { file: /^quota\/seed$/, damages: ALL, outcome: 'ends' },
    'key of stored secrets': { file: /^secrets\.key$/, damages: ALL, outcome: 'ends' },
    'session keys': { file: /^session-keys\.json$/, damages: ALL, outcome: 'reports' },
    'definitions of a tool-set': { file: /^definitions\/.*\.json$/, damages: ALL, outcome: 'reports' },
    'stored document': { file: /^documents\/.*\.document$/, damages: ALL, outcome: 'reports' },
    // derived again at each start: only what can no longer be read matters
    'status of a tool-set': {
      file: /^status\/.*\.yaml$/,
      damages: ['emptied', 'garbage'],
      outcome: 'reports',
    },
    'metering events': {
      file: /^metering\/.*\.events$/,
      damages: ALL,
      outcome: 'reports',
      without: /^metering\/.*\.cursor$/,
    },
    'metering cursor': { file: /^metering\/fold\.cursor$/, damages: ALL, outcome: 'reports' },
    // the key signs once at the start: a flipped bit is either found so, or in a part that signing does not use
    'signing key of the embedded provider': {
      file: /jwks\.json$/,
      damages: ['truncated', 'emptied', 'garbage'],
      outcome: 'ends',
    },
    'version of the database': { file: /^postgres\/PG_VERSION$/, ...DATABASE },
    'catalog of the database': { file: /^postgres\/base\/5\/1259$/, ...DATABASE },
  }
  const LONG = ['status of a tool-set', 'metering cursor', 'version of the database']
  // the suite flips bits, the damage that is hardest to notice, or does the first that applies
  const rows = Object.entries(KINDS).flatMap(([name, kind]) => {
    const { damages } = kind
    const short = damages.includes('bits flipped') ? 'bits flipped' : damages[0]!
    if (!IS_LONG_CHECK && LONG.includes(name)) return []
    return (IS_LONG_CHECK ? damages : [short]).map(damage => [name, damage, kind] as const)
  })

  test.each(rows)(
    '%s, %s: it is reported, or the start ends and names the file',
    async (_, damage, { file: path, outcome, without, named }) => {
      const { started, file, dataDir } = await startWith(path, damage, without)
      const expected = named === undefined ? file : fileOf(dataDir, named)
      try {
        // events are read after the start
        await expect.poll(() => started.output).toContain(expected)
        if (outcome === 'ends') return expect(started.code).toBe(78)
        expect(started.code).toBeUndefined()
        const health = await started.health()
        expect(health.status).toBe('degraded')
        // the log names the file: the health, which is public, names the part
        expect(health.reason).not.toContain(expected)
        expect(health.parts).toEqual([expect.stringMatching(/^(files|quota journal)$/)])
        const metrics = await (await fetch(`${started.addresses!.metrics_url}/metrics`)).text()
        expect(metrics).toMatch(/^platform_degraded\{part="(files|quota journal)"\} 1$/m)
        expect(await started.call()).toBe(429)
      } finally {
        await started.stop()
      }
    },
    60_000,
  )
})
