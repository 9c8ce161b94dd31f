/** Damage to files in DATA_DIR: the next start reports it, or ends with the file and the fix; it never grants a limit again without notice. */
import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Addresses } from '../../src/app/main.ts'
import { copyTemplate } from '../contract/store/pglite-template.ts'
import { post } from '../fixtures/deployment.ts'
import { signedToken } from '../fixtures/tokens.ts'

const REPOSITORY = join(import.meta.dirname, '../..')
const CALL = { name: 'shop_listProducts', arguments: {} }
const PORTS = { GATEWAY_PORT: '0', API_PORT: '0', AUTH_PORT: '0', METRICS_PORT: '0', EXAMPLE_PORT: '0' }
const DAILY_LIMIT = 5
/** Not one of the seeded clients, whose plans the control plane assigns. */
const CONSUMER = 'limited-agent'

const DAMAGES: { readonly [name: string]: (bytes: Buffer) => Buffer } = {
  truncated: bytes => bytes.subarray(0, Math.floor(bytes.length / 2)),
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

/** `toolgate serve`, with everything it prints. */
class Started {
  output = ''
  code: number | null | undefined
  addresses: Addresses | undefined
  readonly #child: ChildProcess
  readonly #dataDir: string

  constructor(dataDir: string, plans: string) {
    this.#dataDir = dataDir
    this.#child = spawn(process.execPath, [join(REPOSITORY, 'dist/app/cli/index.js'), 'serve'], {
      cwd: REPOSITORY,
      env: {
        PATH: process.env.PATH,
        ...PORTS,
        DATA_DIR: dataDir,
        PLANS: plans,
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

  async health(): Promise<{ readonly status: string; readonly reason?: string }> {
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

  /** The consumer's day is used up, and the process has ended. */
  beforeAll(async () => {
    root = mkdtempSync(join(tmpdir(), 'damaged-'))
    used = join(root, 'used')
    plans = join(root, 'plans.yaml')
    const limits = { narrow: { perDay: DAILY_LIMIT, perMonth: 1_000 } }
    writeFileSync(plans, JSON.stringify({ plans: limits, consumers: { [CONSUMER]: 'narrow' } }))
    await copyTemplate(join(used, 'postgres'))
    const gateway = await new Started(used, plans).settled()
    for (let call = 0; call < DAILY_LIMIT; call++) expect(await gateway.call()).toBe(200)
    expect(await gateway.call()).toBe(429)
    await gateway.stop()
  }, 120_000)
  afterAll(() => rmSync(root, { recursive: true, force: true }))

  async function startWith(path: RegExp, damage: string): Promise<{ started: Started; file: string }> {
    const dataDir = mkdtempSync(join(root, 'copy-'))
    cpSync(used, dataDir, { recursive: true })
    const file = fileOf(dataDir, path)
    writeFileSync(file, DAMAGES[damage]!(readFileSync(file)))
    return { started: await new Started(dataDir, plans).settled(), file }
  }

  test('no damage: the day stays used up, and health is not degraded', async () => {
    const dataDir = mkdtempSync(join(root, 'copy-'))
    cpSync(used, dataDir, { recursive: true })
    const started = await new Started(dataDir, plans).settled()
    expect((await started.health()).status).toBe('healthy')
    expect(await started.call()).toBe(429)
    await started.stop()
  }, 60_000)

  test.each(Object.keys(DAMAGES))(
    'quota journal %s: reported by log, health and metric; no limit is granted again',
    async damage => {
      const { started, file } = await startWith(/^quota\/notes-.*\.log$/, damage)
      expect(started.output).toContain(file)
      const health = await started.health()
      expect(health.status).toBe('degraded')
      expect(health.reason).toContain(file)
      expect(health.reason).toContain('/reset')
      const metrics = await (await fetch(`${started.addresses!.metrics_url}/metrics`)).text()
      expect(metrics).toMatch(/^platform_quota_assumed 1$/m)
      expect(await started.call()).toBe(429)
      await started.stop()
    },
    60_000,
  )

  const ENDS: [string, RegExp, string[]][] = [
    ['seed of the quota journal', /^quota\/seed$/, Object.keys(DAMAGES)],
    ['key of stored secrets', /^secrets\.key$/, ['truncated', 'emptied', 'garbage']],
  ]
  test.each(['truncated', 'emptied', 'garbage'])(
    'session keys %s: reported, and replaced',
    async damage => {
      const { started, file } = await startWith(/^session-keys\.json$/, damage)
      expect(started.output).toContain(`${file} is damaged and was replaced`)
      expect((await started.health()).status).toBe('healthy')
      await started.stop()
    },
    60_000,
  )

  test.each(ENDS.flatMap(([name, path, all]) => all.map(damage => [name, damage, path] as const)))(
    '%s %s: the start ends with the file and the fix, or reports it',
    async (_, damage, path) => {
      const { started, file } = await startWith(path, damage)
      try {
        expect(started.output).toContain(file)
        if (started.code === undefined) expect((await started.health()).status).toBe('degraded')
        else expect(started.code).not.toBe(0)
      } finally {
        await started.stop()
      }
    },
    60_000,
  )
})
