/**
 * 1,500 idle sessions and as many event streams on one process, 5,000 with SOAK=1: what each costs in memory, and how long after the first
 * stream the last one is notified of a changed list. So many, because costs that occur once then weigh little; and in two halves, of which the
 * cheaper one counts, because such a cost may fall into one of them on a busy machine.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { post, rpc } from '../fixtures/deployment.ts'
import type { ChildLoop } from '../fixtures/gateway-process.ts'
import { type GatewayProcess, startGatewayProcess } from '../fixtures/gateway-process.ts'
import { IdleStreams } from '../fixtures/idle-streams.ts'
import { clientToken } from '../fixtures/tokens.ts'

const COUNT = process.env.SOAK === '1' ? 5000 : 1500
const MAX_SESSION_BYTES = 8 * 1024
const MAX_STREAM_BYTES = 3 * 1024
const MAX_REACH_MS = 1000
/** Broadcasts that are measured. */
const ROUNDS = process.env.SOAK === '1' ? 7 : 3

const root = mkdtempSync(join(tmpdir(), 'streams-'))
const toolsets = join(root, 'toolsets')
let gateway: GatewayProcess
let streams: IdleStreams
let token: string
let reload: ChildLoop

beforeAll(async () => {
  cpSync('toolsets', toolsets, { recursive: true })
  const many = '1000000'
  gateway = await startGatewayProcess({
    TOOLSETS: toolsets,
    MAX_PER_IP: many,
    MAX_PER_TENANT: many,
    MAX_TOTAL: many,
    RATE_LIMIT_PER_MIN: many,
  })
  streams = new IdleStreams(`${gateway.url}/mcp`)
  token = await clientToken(gateway.addresses.auth_url, 'demo-admin')
  await warmUp()
  reload = await reloadWithoutStreams()
})
afterAll(async () => {
  streams?.close()
  await gateway?.stop()
  rmSync(root, { recursive: true, force: true })
})

const INITIALIZE = {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'idle', version: '1' },
}

async function openSession(): Promise<string> {
  const response = await post(`${gateway.url}/mcp`, rpc('initialize', INITIALIZE), token)
  return response.headers.get('mcp-session-id')!
}

async function openSessions(count: number): Promise<string[]> {
  const ids: string[] = []
  while (ids.length < count)
    ids.push(...(await Promise.all(Array.from({ length: Math.min(50, count - ids.length) }, openSession))))
  return ids
}

/** Code that has never run, pools and tables that grow once: none of that is the price of a stream. */
async function warmUp(): Promise<void> {
  const ids = await openSessions(200)
  const early = new IdleStreams(`${gateway.url}/mcp`)
  await early.add(ids.length, at => headersOf(ids[at]!))
  early.close()
  await gateway.memory()
}

const headersOf = (sessionId: string): Record<string, string> => ({
  authorization: `Bearer ${token}`,
  'mcp-session-id': sessionId,
  'mcp-protocol-version': '2025-06-18',
})

interface Cost {
  readonly heap: number
  readonly rss: number
}

/** @param add adds so many to those that are there */
async function costOf(add: (count: number) => Promise<void>): Promise<Cost> {
  const costs: Cost[] = []
  for (let half = 0; half < 2; half++) {
    const before = await gateway.memory()
    await add(COUNT / 2)
    const after = await gateway.memory()
    const each = (field: 'heapBytes' | 'externalBytes' | 'rssBytes') =>
      (after[field] - before[field]) / (COUNT / 2)
    costs.push({
      heap: Math.round(each('heapBytes') + each('externalBytes')),
      rss: Math.round(each('rssBytes')),
    })
  }
  return costs.reduce((least, cost) => (cost.heap < least.heap ? cost : least))
}

/** What the change of the list costs when no one is notified of it. */
async function reloadWithoutStreams(): Promise<ChildLoop> {
  const tools = async () => /^platform_tools (\d+)$/m.exec(await gateway.metrics())?.[1]
  let reported: ChildLoop | undefined
  // the first one runs code that has never run
  for (let round = 0; round < 2; round++) {
    const before = await tools()
    await gateway.loop()
    changeList()
    while ((await tools()) === before) await sleep(50)
    reported = await gateway.loop()
  }
  return reported!
}

let reads = false
/** Between all operations and those that only read. */
function changeList(): void {
  reads = !reads
  const all = readFileSync('toolsets/shop.yaml', 'utf8').trimEnd()
  writeFileSync(join(toolsets, 'shop.yaml'), `${all}\n${reads ? '  selector:\n    methods: [GET]\n' : ''}`)
}

const ids: string[] = []

it(`keeps ${COUNT} idle sessions in at most 8 KiB each`, async () => {
  const cost = await costOf(async count => {
    ids.push(...(await openSessions(count)))
  })
  process.stdout.write(`  idle session: ${cost.heap} bytes of heap, ${cost.rss} bytes resident\n`)
  expect(cost.heap).toBeLessThanOrEqual(MAX_SESSION_BYTES)
}, 120_000)

it(`keeps ${COUNT} idle streams in at most 3 KiB each`, async () => {
  let opened = 0
  const cost = await costOf(async count => {
    const from = opened
    opened += count
    await streams.add(count, at => headersOf(ids[from + at]!))
  })
  process.stdout.write(`  idle stream: ${cost.heap} bytes of heap, ${cost.rss} bytes resident\n`)
  expect(await gateway.metrics()).toMatch(new RegExp(`^platform_streams ${COUNT}$`, 'm'))
  expect(cost.heap).toBeLessThanOrEqual(MAX_STREAM_BYTES)
}, 120_000)

it('notifies all of them of a changed list, the last within a second of the first', async () => {
  const rounds: { readonly spreadMs: number; readonly heldMs: number; readonly activeMs: number }[] = []
  for (let round = 0; round < ROUNDS; round++) {
    streams.watchFor('notifications/tools/list_changed')
    await gateway.loop()
    changeList()
    const arrivals = await streams.arrivals(30_000)
    expect(arrivals).toHaveLength(COUNT)
    rounds.push({ spreadMs: arrivals.at(-1)! - arrivals[0]!, ...(await gateway.loop()) })
  }
  const shown = (of: (round: (typeof rounds)[number]) => number): string => {
    const sorted = rounds.map(of).sort((x, y) => x - y)
    return `${sorted[ROUNDS >> 1]!.toFixed(1)} (${sorted[0]!.toFixed(1)} to ${sorted.at(-1)!.toFixed(1)})`
  }
  process.stdout.write(
    `  list_changed to ${COUNT} streams, median of ${ROUNDS} (least to most): from the first to the last ` +
      `${shown(round => round.spreadMs)} ms; event loop held ${shown(round => round.heldMs)} ms at a time, ` +
      `${reload.heldMs.toFixed(1)} by the reload alone; ` +
      `${shown(round => ((round.activeMs - reload.activeMs) * 1000) / COUNT)} us of the event loop for each stream\n`,
  )
  const spreads = rounds.map(({ spreadMs }) => spreadMs).sort((a, b) => a - b)
  expect(spreads[ROUNDS >> 1]).toBeLessThanOrEqual(MAX_REACH_MS)
}, 120_000)
