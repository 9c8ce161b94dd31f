/**
 * Part `streams`: what an idle session and an idle event stream cost a gateway in memory, and what it costs to notify 5,000 streams that
 * the list of tools has changed, beside a bare uWS that writes to as many one after the other.
 */
import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { IdleStreams } from '../../../test/fixtures/idle-streams.ts'
import { spread } from '../../statistics.ts'
import { startServer } from './child.ts'
import type { Part } from './part.ts'
import { startToolgate, type Toolgate } from './toolgate.ts'
import { type Round, type Taken, takeTurns } from './turns.ts'

const COUNT = 5000
const WARM = 200
const AT_ONCE = 50
const ARRIVE_MS = 30_000
/** The bare server is quick for the kernel's clock: it notifies this often in one round. */
const BARE_NOTIFICATIONS = 10
/** For the gateway in one window: each notification waits for a change of the list, whose cost varies by a quarter. */
const WINDOW_NOTIFICATIONS = 5
const MANY = '1000000'
const UNLIMITED = { MAX_PER_IP: MANY, MAX_PER_TENANT: MANY, MAX_TOTAL: MANY, RATE_LIMIT_PER_MIN: MANY }

interface Loop {
  readonly heldMs: number
  readonly activeMs: number
}

/** Its cost is the time for which the event loop is busy. */
type LoopRound = Loop & Round
type ReachRound = LoopRound & { readonly spreadMs: number }

const RELOAD = 'reload-alone'
const BROADCAST = `broadcast-${COUNT}`
const BARE = `bare-uws-${COUNT}`

interface Memory {
  readonly heapBytes: number
  readonly externalBytes: number
  readonly rssBytes: number
}

export async function measureStreams(part: Part): Promise<void> {
  part.progress('streams: starting a gateway')
  const gateway = await startToolgate({
    upstream: part.backend,
    workers: 1,
    side: 'server',
    env: UNLIMITED,
  })
  const streams = new IdleStreams(`${local(gateway.url)}/mcp`)
  try {
    await warmUp(gateway)
    const reloads = await one<LoopRound>(part, RELOAD, 'reload', () => reload(gateway), writeReload)
    const reloadMs = spread(reloads.rounds.map(({ activeMs }) => activeMs)).median
    part.progress(`streams: opening ${COUNT} sessions and their streams`)
    const ids: string[] = []
    const session = await costOf(gateway, async () => void ids.push(...(await openSessions(gateway, COUNT))))
    writeMemory(part, 'session', session)
    const stream = await costOf(gateway, () => streams.add(COUNT, at => headersOf(gateway, ids[at]!)))
    writeMemory(part, 'stream', stream)
    const reported = await one<ReachRound>(
      part,
      BROADCAST,
      'stream',
      () => reportAll(gateway, streams, reloadMs),
      (_, taken) => writeBroadcast(part, taken),
      async () => {
        let activeMs = 0
        for (let notify = 0; notify < WINDOW_NOTIFICATIONS; notify++)
          activeMs += (await reportAll(gateway, streams, reloadMs)).activeMs
        return { cpuUs: (activeMs * 1000) / WINDOW_NOTIFICATIONS / COUNT }
      },
    )
    streams.close()
    const bare = await bareUs(part)
    writeBroadcast(part, reported, bare)
    show(part, { session, stream, reported, reloads, bare })
  } finally {
    streams.close()
    await gateway.stop()
  }
}

/** A case by itself. */
async function one<R extends Round>(
  part: Part,
  id: string,
  what: string,
  measure: () => Promise<R>,
  write: (part: Part, taken: Taken<R>) => void,
  window: () => Promise<Round> = measure,
): Promise<Taken<R>> {
  const takenOf = await takeTurns<{ readonly id: string }, R>(part, {
    name: 'streams',
    cases: [{ id }],
    what,
    measure,
    window,
    write: (_, takenOf) => write(part, takenOf(id)),
  })
  return takenOf(id)
}

/** The name may mean ::1 first, where no one listens. */
const local = (url: string): string => url.replace('localhost', '127.0.0.1')

const INITIALIZE = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'idle', version: '1' } },
})

function openSession({ url, token }: Toolgate): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = request(
      `${local(url)}/mcp`,
      {
        method: 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
        },
      },
      response => {
        response.resume()
        const id = response.headers['mcp-session-id']
        if (typeof id === 'string') resolve(id)
        else reject(new Error(`initialize got response ${response.statusCode}, without a session`))
      },
    )
    asked.on('error', reject)
    asked.end(INITIALIZE)
  })
}

async function openSessions(gateway: Toolgate, count: number): Promise<string[]> {
  const ids: string[] = []
  while (ids.length < count)
    ids.push(
      ...(await Promise.all(
        Array.from({ length: Math.min(AT_ONCE, count - ids.length) }, () => openSession(gateway)),
      )),
    )
  return ids
}

const headersOf = ({ token }: Toolgate, sessionId: string): Record<string, string> => ({
  authorization: `Bearer ${token}`,
  'mcp-session-id': sessionId,
  'mcp-protocol-version': '2025-06-18',
})

/** Code that has never run, pools and tables that grow once: none of that is the price of a stream. */
async function warmUp(gateway: Toolgate): Promise<void> {
  const ids = await openSessions(gateway, WARM)
  const early = new IdleStreams(`${local(gateway.url)}/mcp`)
  await early.add(WARM, at => headersOf(gateway, ids[at]!))
  early.close()
  await gateway.ask('memory')
}

const loopOf = async (gateway: Toolgate): Promise<Loop> => (await gateway.ask('loop')) as Loop

/** What the change of the list costs when no one is notified of it. */
async function reload(gateway: Toolgate): Promise<LoopRound> {
  const tools = async (): Promise<string | undefined> =>
    /^platform_tools (\d+)$/m.exec(await (await fetch(`${gateway.metrics_url}/metrics`)).text())?.[1]
  const before = await tools()
  await loopOf(gateway)
  gateway.changeTools()
  const until = Date.now() + ARRIVE_MS
  while ((await tools()) === before) {
    if (Date.now() > until) throw new Error('the gateway does not follow its tool-sets')
    await sleep(50)
  }
  const loop = await loopOf(gateway)
  return { ...loop, cpuUs: loop.activeMs * 1000 }
}

async function costOf(gateway: Toolgate, what: () => Promise<void>): Promise<Memories> {
  const before = (await gateway.ask('memory')) as Memory
  await what()
  const after = (await gateway.ask('memory')) as Memory
  const each = (bytes: (memory: Memory) => number): number => (bytes(after) - bytes(before)) / COUNT / 1024
  return {
    heapKiB: each(({ heapBytes, externalBytes }) => heapBytes + externalBytes),
    rssKiB: each(({ rssBytes }) => rssBytes),
  }
}

async function reportAll(gateway: Toolgate, streams: IdleStreams, reloadMs: number): Promise<ReachRound> {
  streams.watchFor('notifications/tools/list_changed')
  await loopOf(gateway)
  gateway.changeTools()
  const arrivals = await streams.arrivals(ARRIVE_MS)
  const loop = await loopOf(gateway)
  return {
    ...loop,
    spreadMs: arrivals.at(-1)! - arrivals[0]!,
    cpuUs: ((loop.activeMs - reloadMs) * 1000) / COUNT,
  }
}

/** CPU time of a bare uWS for each stream, by rounds. */
async function bareUs(part: Part): Promise<Taken<Round>> {
  part.progress(`streams: a bare uWS and ${COUNT} streams`)
  const server = await startServer(new URL('./server.ts', import.meta.url).pathname, ['streams'], 'server')
  const url = `http://127.0.0.1:${server.said}/mcp`
  const streams = new IdleStreams(url)
  try {
    await streams.add(COUNT, () => ({}))
    return await one<Round>(
      part,
      BARE,
      'stream',
      async () => {
        const before = server.cpuUs()
        for (let notify = 0; notify < BARE_NOTIFICATIONS; notify++) {
          streams.watchFor('notifications/tools/list_changed')
          await (await fetch(url, { method: 'POST' })).text()
          await streams.arrivals(ARRIVE_MS)
        }
        return { cpuUs: (server.cpuUs() - before) / BARE_NOTIFICATIONS / COUNT }
      },
      writeBare,
    )
  } finally {
    streams.close()
    await server.stop()
  }
}

interface Memories {
  readonly heapKiB: number
  readonly rssKiB: number
}

/** For all lines of this part. */
const lowerIn = (part: Part, warmUpMs?: number) =>
  ({
    better: 'lower',
    setup: { streams: COUNT, pinned: part.pinned, ...(warmUpMs === undefined ? {} : { warmUpMs }) },
  }) as const

function writeMemory(part: Part, id: string, { heapKiB, rssKiB }: Memories): void {
  const line = { suite: 'http/memory', case: id, unit: 'KiB', ...lowerIn(part) } as const
  part.write({ ...line, metric: 'memory', samples: [heapKiB] })
  part.write({ ...line, metric: 'resident', samples: [rssKiB] })
}

const nsOf = ({ rounds }: Taken<Round>): readonly number[] => rounds.map(({ cpuUs }) => cpuUs * 1000)
const lineOf = (part: Part, id: string, { warm, warmUpMs }: Taken<Round>) =>
  ({ suite: 'http/sse', case: id, warm, ...lowerIn(part, warmUpMs) }) as const

function writeReload(part: Part, taken: Taken<LoopRound>): void {
  const samples = taken.rounds.map(({ heldMs }) => heldMs)
  part.write({ ...lineOf(part, RELOAD, taken), metric: 'loop-held', unit: 'ms', samples })
}

function writeBare(part: Part, taken: Taken<Round>): void {
  part.write({ ...lineOf(part, BARE, taken), metric: 'time', unit: 'ns', samples: nsOf(taken) })
}

/** @param bare undefined while it is not measured */
function writeBroadcast(part: Part, taken: Taken<ReachRound>, bare?: Taken<Round>): void {
  const line = lineOf(part, BROADCAST, taken)
  const reference = { case: `http/sse/${BARE}`, samples: bare === undefined ? [] : nsOf(bare) }
  part.write({ ...line, metric: 'time', unit: 'ns', samples: nsOf(taken), reference })
  part.write({ ...line, metric: 'loop-held', unit: 'ms', samples: taken.rounds.map(({ heldMs }) => heldMs) })
  part.write({ ...line, metric: 'reach', unit: 'ms', samples: taken.rounds.map(({ spreadMs }) => spreadMs) })
}

interface Found {
  readonly session: Memories
  readonly stream: Memories
  readonly reported: Taken<ReachRound>
  readonly reloads: Taken<LoopRound>
  readonly bare: Taken<Round>
}

function show(part: Part, { session, stream, reported, reloads, bare }: Found): void {
  const us = ({ rounds }: Taken<Round>): readonly number[] => rounds.map(({ cpuUs }) => cpuUs)
  const row = (name: string, unit: string, samples: readonly number[]): readonly string[] => {
    const { median, min, max } = spread(samples)
    return [name, `${median.toFixed(1)} ${unit}`, `${min.toFixed(1)}–${max.toFixed(1)}`]
  }
  part.show(
    `Sessions and event streams, ${COUNT} of each; all are notified of a change of the list of tools`,
    ['what', 'median', 'least–most'],
    [
      row('idle session, heap', 'KiB', [session.heapKiB]),
      row('idle session, resident', 'KiB', [session.rssKiB]),
      row('idle stream, heap', 'KiB', [stream.heapKiB]),
      row('idle stream, resident', 'KiB', [stream.rssKiB]),
      row('event loop for each stream notified', 'µs', us(reported)),
      row('the same of bare uWS, one after the other', 'µs', us(bare)),
      row(
        'event loop held at most',
        'ms',
        reported.rounds.map(({ heldMs }) => heldMs),
      ),
      row(
        '… by the new list alone',
        'ms',
        reloads.rounds.map(({ heldMs }) => heldMs),
      ),
      row(
        'from the first stream to the last',
        'ms',
        reported.rounds.map(({ spreadMs }) => spreadMs),
      ),
    ],
    [1, 2],
  )
}
