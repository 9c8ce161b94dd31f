/**
 * Swaps of the policy on a busy machine: bundles that allow and bundles that deny follow each other while calls on new connections reach every
 * thread. It judges each response by the revision that it names and by the swaps that were announced before the call.
 */
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { unpack } from '../../src/policy/archive.ts'
import { BUNDLE_LIMITS } from '../../src/policy/bundle.ts'
import { copyTemplate } from '../contract/store/pglite-template.ts'
import { FREE_PORTS } from '../fixtures/free-ports.ts'
import { fresh } from '../fixtures/fresh-connection.ts'
import { ServeProcess } from '../fixtures/planes.ts'
import { altered, manifestWith, SHIPPED } from '../fixtures/policy/inputs.ts'
import { clientToken } from '../fixtures/tokens.ts'
import { startBusy } from './busy.ts'

export interface SwapOptions {
  readonly swaps: number
  /** Processes that only use processor time. */
  readonly busy: number
  readonly workers: number
  readonly progress?: (line: string) => void
}

export interface SwapResult {
  /** Empty when every response was right. */
  readonly findings: readonly string[]
  readonly swaps: number
  readonly calls: number
  /** Calls that began after the announcement of the revision then in force. */
  readonly afterAnnouncement: number
  /** For the machine, at the end. */
  readonly loadAverage: number
  /** Milliseconds from the written file to the announcement. */
  readonly swapMs: { readonly p50: number; readonly max: number }
}

interface Call {
  readonly startedAt: number
  readonly swap: number
}

const CALLERS = 4
const CALL_EVERY_MS = 20
/** Calls after each announcement before the next swap: enough to reach every thread on new connections. */
const CALLS_AFTER = 24
const MAX_SWAP_MS = 120_000
const MAX_BUSY_MS = 3_600_000
const MAX_FINDINGS = 20
const PROGRESS_MS = 30_000
const CALL = { name: 'shop_getProduct', arguments: { productId: 'P-1001' } }

export async function swapPolicies(options: SwapOptions): Promise<SwapResult> {
  const dir = mkdtempSync(join(tmpdir(), 'toolgate-swaps-'))
  const file = join(dir, 'bundle.tar.gz')
  put(file, 0)
  await copyTemplate(join(dir, 'data', 'postgres'))
  const gateway = new ServeProcess({
    ...FREE_PORTS,
    DATA_DIR: join(dir, 'data'),
    WORKERS: String(options.workers),
    LOG_LEVEL: 'error',
    POLICY_BUNDLE: file,
    POLICY_POLL: '50ms',
    DECISION_LOG: 'off',
  })
  const { gateway_url: url, auth_url: issuer } = await gateway.start()
  const busy = startBusy(options.busy, MAX_BUSY_MS)
  try {
    return await swapAll(options, url, await clientToken(issuer!, 'demo-admin'), file)
  } finally {
    await busy.stop()
    await gateway.end('SIGTERM')
    rmSync(dir, { recursive: true, force: true })
  }
}

async function swapAll(
  { swaps, progress = () => {} }: SwapOptions,
  url: string,
  token: string,
  file: string,
): Promise<SwapResult> {
  const findings: string[] = []
  const calls: Call[] = []
  /** When swap n was announced: a response that it decided, or the administration, has been read. */
  const announcedAt = [performance.now()]
  const swapMs: number[] = []
  let stopping = false

  const found = (finding: string): void => void findings.push(finding)
  const announce = (swap: number): void => {
    announcedAt[swap] ??= performance.now()
  }

  async function call(): Promise<void> {
    const startedAt = performance.now()
    const announced = announcedAt.length - 1
    const { status, text, header } = await fresh(`${url}/mcp/tools/call`, {
      method: 'POST',
      token,
      body: CALL,
    })
    const swap = swapOf(header('x-policy-revision') || (/"policy_revision":"([^"]+)"/.exec(text)?.[1] ?? ''))
    if (swap === undefined) return found(`a response names no revision: ${status} ${text.slice(0, 200)}`)
    announce(swap)
    calls.push({ startedAt, swap })
    if (swap < announced)
      found(`revision ${swap} decided a call that began after ${announced} was announced.`)
    if (status !== (allows(swap) ? 200 : 403))
      found(`${status} under ${revisionOf(swap)}: ${text.slice(0, 200)}`)
  }

  async function caller(): Promise<void> {
    for (; !stopping; await sleep(CALL_EVERY_MS))
      await call().catch(error => found(`a call failed: ${(error as Error).message}`))
  }

  const callers = Array.from({ length: CALLERS }, caller)
  const timer = setInterval(
    () => progress(`${announcedAt.length - 1} swaps, ${calls.length} calls, ${findings.length} findings`),
    PROGRESS_MS,
  )
  try {
    for (let swap = 1; swap <= swaps && findings.length < MAX_FINDINGS; swap++) {
      const writtenAt = performance.now()
      put(file, swap)
      for (
        const until = writtenAt + MAX_SWAP_MS;
        announcedAt[swap] === undefined;
        await sleep(CALL_EVERY_MS)
      ) {
        if (performance.now() > until) {
          found(`${revisionOf(swap)} is not served after ${MAX_SWAP_MS / 1000} s.`)
          stopping = true
          break
        }
        const shown = await fresh(`${url}/admin/policy`, { token })
        if (shown.json?.revision === revisionOf(swap)) announce(swap)
      }
      if (stopping) break
      swapMs.push(announcedAt[swap]! - writtenAt)
      const before = calls.length
      while (calls.length < before + CALLS_AFTER && findings.length < MAX_FINDINGS) await sleep(CALL_EVERY_MS)
    }
  } finally {
    stopping = true
    clearInterval(timer)
    await Promise.all(callers)
  }
  const health = (await fresh(`${url}/mcp/health`)).json
  if (health.status !== 'healthy') found(`health is ${JSON.stringify(health)} after the last swap.`)
  swapMs.sort((a, b) => a - b)
  return {
    findings,
    swaps: swapMs.length,
    calls: calls.length,
    afterAnnouncement: calls.filter(({ startedAt, swap }) => startedAt > announcedAt[swap]!).length,
    loadAverage: Math.round(10 * loadavg()[0]!) / 10,
    swapMs: { p50: Math.round(swapMs[swapMs.length >> 1] ?? 0), max: Math.round(swapMs.at(-1) ?? 0) },
  }
}

/** Even revisions allow the call; odd ones ask for a scope that no caller has. */
const allows = (swap: number): boolean => swap % 2 === 0
const revisionOf = (swap: number): string => `swap-${swap}`

function swapOf(revision: string): number | undefined {
  const found = /^swap-(\d+)$/.exec(revision)
  return found === null ? undefined : Number(found[1])
}

function put(file: string, swap: number): void {
  const shipped = unpack(readFileSync(SHIPPED), BUNDLE_LIMITS)
  const data = JSON.parse(Buffer.from(shipped.get('data.json')!).toString())
  if (!allows(swap)) data.toolgate.operations['tools.call'] = { all: ['never'] }
  const manifest = manifestWith(content => {
    content.revision = revisionOf(swap)
  })
  writeFileSync(`${file}.next`, altered({ '.manifest': manifest, 'data.json': JSON.stringify(data) }))
  renameSync(`${file}.next`, file)
}
