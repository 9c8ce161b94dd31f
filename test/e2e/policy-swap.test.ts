/**
 * Bundles that take each other's place under load: every response is right for the revision it names, and none is an error.
 * 30 swaps in the usual run; SOAK=1 swaps 200 times under 2,000 requests per second and prints the counts.
 */
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { unpack } from '../../src/policy/archive.ts'
import { BUNDLE_LIMITS } from '../../src/policy/bundle.ts'
import { type Deployment, deploy, read } from '../fixtures/deployment.ts'
import { altered, manifestWith, SHIPPED } from '../fixtures/policy/inputs.ts'

const SOAK = process.env.SOAK === '1'
const SWAPS = SOAK ? 200 : 30
const PER_SECOND = SOAK ? 2000 : 200

const dir = mkdtempSync(join(tmpdir(), 'policy-swap-'))
const file = join(dir, 'bundle.tar.gz')
let gateway: Deployment
let admin: string

interface Counts {
  readonly responded: number
  readonly errors: number
  readonly wrong: number
  readonly unnamed: number
  readonly byRevision: Record<string, number>
  readonly examples: readonly string[]
  readonly seconds: number
}

/** Revisions are `open-N` and `shut-N`; the second kind asks for a scope that no one has. */
function bundle(revision: string): Buffer {
  const data = JSON.parse(
    Buffer.from(unpack(readFileSync(SHIPPED), BUNDLE_LIMITS).get('data.json')!).toString(),
  )
  if (revision.startsWith('shut')) data.toolgate.operations['tools.call'] = { all: ['nobody'] }
  const manifest = manifestWith(content => {
    content.revision = revision
  })
  return altered({ '.manifest': manifest, 'data.json': JSON.stringify(data) })
}

function put(revision: string): void {
  writeFileSync(`${file}.next`, bundle(revision))
  renameSync(`${file}.next`, file)
}

async function served(): Promise<string> {
  const response = await read(
    await fetch(`${gateway.url}/admin/policy`, { headers: { authorization: `Bearer ${admin}` } }),
  )
  return response.json.revision
}

async function until(revision: string): Promise<void> {
  for (const startedAt = Date.now(); (await served()) !== revision; ) {
    if (Date.now() - startedAt > 30_000) throw new Error(`${revision} is not served after 30 s`)
    await new Promise(resolve => setTimeout(resolve, 10))
  }
}

beforeAll(async () => {
  put('open-0')
  gateway = await deploy({
    POLICY_BUNDLE: file,
    POLICY_POLL: '10ms',
    DECISION_LOG_PERCENT: '0',
    POLICY_MAX_FLIPS: '0',
  })
  admin = await gateway.token('demo-admin')
})
afterAll(async () => {
  await gateway?.stop()
  rmSync(dir, { recursive: true, force: true })
})

it(`${SWAPS} swaps under load: no error, no wrong decision`, { timeout: 300_000 }, async () => {
  const load = new Worker(new URL('../fixtures/policy/paced-load.mjs', import.meta.url), {
    workerData: {
      url: gateway.url,
      token: admin,
      perSecond: PER_SECOND,
      body: JSON.stringify({ name: 'shop_getProduct', arguments: { productId: 'P-1001' } }),
    },
  })
  const counted = new Promise<Counts>((resolve, reject) => {
    load.on('message', resolve)
    load.on('error', reject)
  })
  let revision = 'open-0'
  for (let n = 1; n <= SWAPS; n++) {
    revision = `${n % 2 === 1 ? 'shut' : 'open'}-${n}`
    put(revision)
    await until(revision)
  }
  load.postMessage('stop')
  const { byRevision, ...counts } = await counted
  if (SOAK)
    console.log(
      `${SWAPS} swaps, ${counts.responded} responses in ${counts.seconds.toFixed(1)} s (${Math.round(counts.responded / counts.seconds)}/s) under ${Object.keys(byRevision).length} revisions`,
    )
  expect(counts).toMatchObject({ errors: 0, wrong: 0, unnamed: 0, examples: [] })
  // both kinds were seen, each in more revisions than a tenth of the swaps
  expect(Object.keys(byRevision).filter(name => name.startsWith('open')).length).toBeGreaterThan(SWAPS / 10)
  expect(Object.keys(byRevision).filter(name => name.startsWith('shut')).length).toBeGreaterThan(SWAPS / 10)

  const health = await read(await fetch(`${gateway.url}/mcp/health`))
  expect(health.json.status).toBe('healthy')
  const status = await read(
    await fetch(`${gateway.url}/admin/policy`, { headers: { authorization: `Bearer ${admin}` } }),
  )
  expect(status.json).toMatchObject({ revision, swaps: SWAPS, rejected: 0 })
})
