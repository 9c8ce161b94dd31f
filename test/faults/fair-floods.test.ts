/**
 * One tenant floods backends that hang, are slow, respond with much, need costly checks or fail; 20 others make 5 calls a second each. None of those is
 * refused. `SOAK=1` is the whole measurement: it prints a table, and the bounds of latency and goodput apply.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { setPriority } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { spread } from '../../bench/statistics.ts'
import { atRate } from '../fixtures/open-loop.ts'
import { signedToken } from '../fixtures/tokens.ts'
import type { Flood, FloodPorts } from './flood-child.ts'
import { type Operation, prepareSubject, type Subject, writeToolSet } from './subject.ts'

const SOAK = process.env.SOAK === '1'
const SECONDS = SOAK ? 10 : 3
/** Pairs without and with the flood, in turns: what else the machine does changes both of a pair. Of each, the medians are compared. */
const PAIRS = SOAK ? 5 : 1
const OTHERS = 20
const PER_SECOND_EACH = 5
/** Until the flood holds what it gets. */
const LEAD_MS = 3_000
/** About a second of one processor for a text of 100,000 characters. */
const COSTLY: Operation = { id: 'costly', pattern: '^(a{1,400})+$' }
const TSX = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href

interface Row {
  readonly kind: string
  readonly tools: readonly string[]
  readonly perSecond: number
  readonly textLength?: number
  /** What the others call. */
  readonly others: 'well' | 'second'
}

const ROWS: readonly Row[] = [
  { kind: 'hanging', tools: [0, 1, 2, 3, 4, 5].map(at => `hang${at}`), perSecond: 500, others: 'well' },
  { kind: 'slow, shared', tools: ['second'], perSecond: 500, others: 'second' },
  { kind: 'failing', tools: ['failing'], perSecond: 500, others: 'well' },
  { kind: 'large', tools: ['bulky'], perSecond: 500, others: 'well' },
  { kind: 'costly', tools: ['costly'], perSecond: 50, textLength: 100_000, others: 'well' },
]

interface Measured {
  readonly p50Ms: number
  readonly p99Ms: number
  readonly successful: number
  readonly refused: number
}

let subject: Subject
let child: ReturnType<typeof fork>
let tokens: string[]
const table: string[] = []

beforeAll(async () => {
  child = fork(join(import.meta.dirname, 'flood-child.ts'), { execArgv: ['--import', TSX] })
  // on a quiet machine, what is measured comes first; on a busy one the backends would not respond
  if (SOAK) setPriority(child.pid!, 10)
  const [ports] = (await once(child, 'message')) as [FloodPorts]
  subject = await prepareSubject({ sharedTools: ['well'] })
  const toolSet = (name: string, namespace: string, port: number, operations: readonly Operation[]): void =>
    writeToolSet(
      subject.root,
      `http://127.0.0.1:${port}`,
      `${name}.yaml`,
      { name, namespace },
      operations,
      '12s',
    )
  for (const [at, port] of ports.hanging.entries())
    toolSet(`hanging-${at}`, 'tenant-acme', port, [{ id: `hang${at}` }])
  toolSet('second', 'platform', ports.slow, [{ id: 'second' }])
  toolSet('bulky', 'tenant-acme', ports.large, [{ id: 'bulky' }])
  toolSet('failing', 'tenant-acme', ports.failing, [{ id: 'failing' }])
  toolSet('costly', 'tenant-acme', ports.quick, [COSTLY])
  tokens = await Promise.all(
    Array.from({ length: OTHERS }, (_, at) =>
      signedToken(subject.root, subject.provider.issuer, { id: 'demo-viewer', tenant: `t-${at}` }, '3h'),
    ),
  )
  await subject.process.start()
}, 120_000)
afterAll(async () => {
  if (table.length > 0) process.stdout.write(`${table.join('\n')}\n`)
  child?.kill('SIGKILL')
  await subject?.close()
})

async function measureOthers(tool: string, forMs: number): Promise<Measured> {
  const tookMs: number[] = []
  const statuses: number[] = []
  const pending: Promise<void>[] = []
  const until = performance.now() + forMs
  await atRate(
    OTHERS * PER_SECOND_EACH,
    () => performance.now() < until,
    made => {
      const called = subject.callTool(tool, tokens[made % OTHERS]).then(reply => {
        tookMs.push(reply.tookMs)
        statuses.push(reply.status)
      })
      pending.push(called)
    },
  )
  await Promise.all(pending)
  tookMs.sort((a, b) => a - b)
  const at = (share: number): number =>
    tookMs[Math.min(tookMs.length - 1, Math.floor(tookMs.length * share))]!
  const successful = statuses.filter(status => status === 200).length
  return { p50Ms: at(0.5), p99Ms: at(0.99), successful, refused: statuses.length - successful }
}

/** @returns statuses of what ended in the time */
async function flood(row: Row, forMs: number): Promise<Record<string, number>> {
  const { tools, perSecond, textLength = 0 } = row
  const asked: Flood = {
    ...{ url: subject.url, token: subject.unlimitedToken, forMs },
    ...{ tools, perSecond, textLength },
  }
  child.send(asked)
  const [statuses] = (await once(child, 'message')) as [Record<string, number>]
  return statuses
}

const text = ({ p50Ms, p99Ms, successful, refused }: Measured): string =>
  `p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms, ${successful} served, ${refused} refused`

describe.each(ROWS)('a tenant that floods backends: $kind', row => {
  it('has none of the calls of 20 others refused', {
    timeout: 60_000 + PAIRS * SECONDS * 5_000,
  }, async () => {
    await measureOthers(row.others, 1_000)
    const floodAlone = SOAK ? await flood(row, 2 * SECONDS * 1_000) : {}
    const p99s: { aloneMs: number; bothMs: number }[] = []
    let served = 0
    let capacity = 0
    for (let pair = 0; pair < PAIRS; pair++) {
      const alone = await measureOthers(row.others, SECONDS * 1_000)
      const flooding = flood(row, LEAD_MS + SECONDS * 1_000)
      await sleep(LEAD_MS)
      const both = await measureOthers(row.others, SECONDS * 1_000)
      const statuses = await flooding
      table.push(
        `${row.kind}: alone ${text(alone)}; with the flood ${text(both)}; flood ${JSON.stringify(statuses)}`,
      )
      expect(alone.refused).toBe(0)
      expect(both.refused).toBe(0)
      p99s.push({ aloneMs: alone.p99Ms, bothMs: both.p99Ms })
      served += ((statuses[200] ?? 0) * SECONDS) / (SECONDS + LEAD_MS / 1_000) + both.successful
      capacity += (floodAlone[200] ?? 0) / 2 + (row.others === 'well' ? alone.successful : 0)
    }
    if (!SOAK) return
    const ratio =
      spread(p99s.map(({ bothMs }) => bothMs)).median / spread(p99s.map(({ aloneMs }) => aloneMs)).median
    const goodput = served / capacity
    table.push(`  medians: p99 × ${ratio.toFixed(2)}, goodput ${(100 * goodput).toFixed(1)} %`)
    expect.soft(ratio).toBeLessThanOrEqual(2)
    expect.soft(goodput).toBeGreaterThanOrEqual(0.95)
  })
})
