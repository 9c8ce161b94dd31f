/** The first start with the embedded database, as `npm start` runs it: memory of the whole process tree, and what it prints. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { copyTemplate } from '../contract/store/pglite-template.ts'
import { FREE_PORTS, freePorts } from '../fixtures/free-ports.ts'
import { processEnv } from '../fixtures/process-env.ts'

const BIN = join(import.meta.dirname, '../../dist/cli/index.js')
const MAX_MIB = 512

/** Resident memory of a process and its children, in MiB (proc(5)); 0 of a process that has ended. */
function treeMib(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean)
    const own = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024
    return children.reduce((sum, child) => sum + treeMib(Number(child)), own)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ESRCH') return 0
    throw error
  }
}

async function peakUntilReady(child: ChildProcess): Promise<number> {
  let printed = ''
  child.stdout!.on('data', text => {
    printed += text
  })
  let peak = 0
  while (!printed.includes('"ready":true')) {
    expect(child.exitCode, printed).toBeNull()
    peak = Math.max(peak, treeMib(child.pid!))
    await sleep(5)
  }
  return peak
}

/** Until a line is printed or an address responds. @returns what it has printed */
async function printedBy(env: Readonly<Record<string, string>>, isStarted: (printed: string) => unknown) {
  const dataDir = mkdtempSync(join(tmpdir(), 'toolgate-first-'))
  await copyTemplate(join(dataDir, 'postgres'))
  const child = spawn(process.execPath, [BIN, 'serve'], {
    env: {
      ...processEnv(),
      LOG_LEVEL: 'warn',
      WORKERS: '2',
      DATA_DIR: dataDir,
      ...FREE_PORTS,
      ...env,
    },
  })
  const ended = once(child, 'exit')
  let printed = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', text => (printed += text))
  try {
    await expect.poll(() => isStarted(printed), { timeout: 60_000, interval: 20 }).toBeTruthy()
    return printed
  } finally {
    child.kill('SIGTERM')
    await ended
    rmSync(dataDir, { recursive: true, force: true })
  }
}

const WARNING = '"level":40'

it('prints no warning, and the addresses of console and portal', async () => {
  const printed = await printedBy({}, text => /^\{"ready":true.*\}$/m.exec(text))
  expect(printed).not.toContain(WARNING)
  const { api_url } = JSON.parse(/^\{"ready":true.*\}$/m.exec(printed)![0])
  expect(printed).toContain(`\n  console        ${api_url}/console/\n  portal         ${api_url}/portal/\n`)
}, 120_000)

it('warns once of audiences that nearly every token of another provider has, with several threads', async () => {
  const [port] = await freePorts(1)
  const env = {
    ROLE: 'gateway',
    AUTH_ISSUER: 'http://127.0.0.1:9/realms/none',
    CONTROL_PLANE_URL: 'http://127.0.0.1:9',
    GATEWAY_CLIENT_ID: 'gateway',
    GATEWAY_CLIENT_SECRET: 'secret',
    GATEWAY_PORT: String(port),
  }
  const printed = await printedBy(env, () =>
    fetch(`http://127.0.0.1:${port}/health`).then(
      ({ ok }) => ok,
      () => false,
    ),
  )
  expect(printed.match(/ALLOWED_AUDIENCES contains/g)).toHaveLength(1)
}, 120_000)

it.skipIf(process.platform !== 'linux')(
  `takes less than ${MAX_MIB} MiB`,
  async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'toolgate-first-'))
    const child = spawn(process.execPath, [BIN, 'serve'], {
      env: { ...processEnv(), LOG_LEVEL: 'error', WORKERS: '1', DATA_DIR: dataDir, ...FREE_PORTS },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    try {
      const peakMib = await peakUntilReady(child)
      expect(peakMib).toBeLessThan(MAX_MIB)
      // 0: nothing could be read
      expect(peakMib).toBeGreaterThan(0)
    } finally {
      const ended = new Promise(resolve => child.once('exit', resolve))
      child.kill('SIGKILL')
      await ended
      rmSync(dataDir, { recursive: true, force: true })
    }
  },
  180_000,
)
