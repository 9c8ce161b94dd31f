/** Several threads decide by one policy: a bundle is served by all of them or by none, also when it is refused first or a thread crashes. */
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type Deployment, deploy } from '../fixtures/deployment.ts'
import { fresh } from '../fixtures/fresh-connection.ts'
import { costly } from '../fixtures/policy/inputs.ts'

const THREADS = 3
const dir = mkdtempSync(join(tmpdir(), 'policy-threads-'))
const file = join(dir, 'bundle.tar.gz')
const candidate = join(dir, 'candidate.tar.gz')
const tenants = join(dir, 'tenants')
/** Every thread that this process starts: those that serve calls among them. */
const started: Worker[] = []
process.on('worker', worker => started.push(worker))

/** The thread that tries bundles has a bounded heap; it is not to crash here. */
const isTrial = ({ resourceLimits }: Worker): boolean => resourceLimits?.maxOldGenerationSizeMb === 512

let gateway: Deployment
let token: string

function put(path: string, bundle: Uint8Array): void {
  writeFileSync(`${path}.next`, bundle)
  renameSync(`${path}.next`, path)
}

beforeAll(async () => {
  put(file, costly({}, 'first'))
  mkdirSync(tenants)
  gateway = await deploy({
    POLICY_BUNDLE: file,
    POLICY_SHADOW: candidate,
    POLICY_TENANTS: tenants,
    POLICY_POLL: '20ms',
    WORKERS: String(THREADS),
    TEST_HOOKS: '1',
  })
  token = await gateway.token('demo-admin')
}, 120_000)
afterAll(async () => {
  await gateway?.stop()
  rmSync(dir, { recursive: true, force: true })
})

const POLL = { timeout: 60_000, interval: 50 }
const many = <T>(count: number, what: () => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, what))
/** On its own connection, so that repeated requests reach every thread. */
async function revision(): Promise<string> {
  const response = await fresh(`${gateway.url}/mcp/v1/tools`, { method: 'POST', token, body: {} })
  if (response.status !== 200) throw new Error(`${response.status} ${response.text}`)
  return response.header('x-policy-revision')
}
const revisions = async (): Promise<string[]> => [...new Set(await many(40, revision))].sort()
const health = async () => (await fresh(`${gateway.url}/mcp/health`)).json
const status = async () => (await fresh(`${gateway.url}/admin/policy`, { token })).json

describe(`${THREADS} threads`, { timeout: 180_000 }, () => {
  it('refuse a bundle together, report it, and adopt it together later though the file has not changed', async () => {
    // one thread was asked this, and the others were not
    expect(await status()).toMatchObject({ revision: 'first' })
    // 600 ms for each decision of this kind: too slow for what was asked of late
    put(file, costly({ admin: 4000 }, 'second'))
    await expect
      .poll(async () => (await many(20, health)).every(one => one.status === 'degraded'), POLL)
      .toBe(true)
    expect((await health()).parts).toEqual(['policy'])
    // on a busy machine, an attempt may end at the time-out of all questions before it comes to this one; the next attempt follows
    const shown = await vi.waitFor(async () => {
      const current = await status()
      expect(current.fault).toMatch(/cannot evaluate the action admin/)
      return current
    }, POLL)
    expect(await revisions()).toEqual(['first'])
    expect(shown).toMatchObject({ revision: 'first', rejected: 1, fault: expect.stringMatching(/admin/) })
    expect(shown.attempts).toBeGreaterThan(0)
    expect(Date.parse(shown.next_attempt_at)).toBeGreaterThan(0)
    // what was asked of late is something else from here on
    await expect
      .poll(async () => {
        await revisions()
        return (await many(20, health)).every(one => one.status === 'healthy')
      }, POLL)
      .toBe(true)
    expect(await revisions()).toEqual(['second'])
  })

  it('switch at one moment: no response after one by the new bundle is by the old one', async () => {
    for (let n = 1; n <= 10; n++) {
      const next = `switch-${String(n).padStart(2, '0')}`
      put(file, costly({}, next))
      const seen: { startedAt: number; endedAt: number; revision: string }[] = []
      await expect
        .poll(
          async () => {
            await many(8, async () => {
              for (let at = 0; at < 10; at++) {
                const startedAt = performance.now()
                seen.push({ revision: await revision(), startedAt, endedAt: performance.now() })
              }
            })
            return seen.at(-1)!.revision
          },
          { timeout: 60_000, interval: 1 },
        )
        .toBe(next)
      const firstNewMs = Math.min(...seen.filter(one => one.revision === next).map(({ endedAt }) => endedAt))
      const late = seen.filter(one => one.startedAt > firstNewMs && one.revision !== next)
      expect(late).toEqual([])
    }
  })

  it('serve one revision after threads have crashed while a bundle was distributed', async () => {
    for (let n = 1; n <= 3; n++) {
      const next = `crash-${n}`
      const serving = started.filter(worker => worker.threadId > 0 && !isTrial(worker))
      put(file, costly({}, next))
      // the first ones crash before the bundle is read, the others while it is tried, prepared or activated
      for (const worker of serving.slice(-THREADS).slice(0, n)) {
        await new Promise(resolve => setTimeout(resolve, 15 * n))
        worker.postMessage('crash')
      }
      await expect
        .poll(async () => {
          const metrics = await fresh(`${gateway.running.addresses.metrics_url}/metrics`)
          const threads = /^platform_workers (\d+)$/m.exec(metrics.text)?.[1]
          return [threads, await revisions().catch(() => [])]
        }, POLL)
        .toEqual([String(THREADS), [next]])
      expect((await health()).status).toBe('healthy')
    }
  })

  it('compare a candidate together, and a promotion is theirs together', async () => {
    put(candidate, costly({}, 'promoted'))
    await expect.poll(async () => (await status()).candidate.revision, POLL).toBe('promoted')
    await many(30, revision)
    await expect.poll(async () => (await status()).candidate.compared, POLL).toBeGreaterThanOrEqual(30)
    const promotion = await fresh(`${gateway.url}/admin/policy/promote`, { method: 'POST', token })
    expect(promotion).toMatchObject({ status: 200, json: { revision: 'promoted' } })
    expect(await revisions()).toEqual(['promoted'])
  })

  it('take up the bundle of a tenant together, and drop it together', async () => {
    const own = join(tenants, 'acme.tar.gz')
    put(own, costly({}, 'own'))
    const decided = async (): Promise<string[]> => {
      const call = { name: 'shop_getProduct', arguments: { productId: 'P-1001' } }
      const calls = await many(30, () =>
        fresh(`${gateway.url}/mcp/tools/call`, { method: 'POST', token, body: call }),
      )
      return [...new Set(calls.map(one => one.header('x-policy-revision')))]
    }
    await expect
      .poll(async () => (await status()).tenants, POLL)
      .toEqual([{ tenant: 'acme', revision: 'own' }])
    expect(await decided()).toEqual(['promoted+own'])
    rmSync(own)
    await expect.poll(async () => (await status()).tenants, POLL).toEqual([])
    expect(await decided()).toEqual(['promoted'])
  })
})
