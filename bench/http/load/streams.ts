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

const COUNT = 5000
const WARM = 200
const AT_ONCE = 50
const ARRIVE_MS = 30_000
/** The bare server is quick for the kernel's clock: it notifies this often in one round. */
const BARE_NOTIFICATIONS = 10
const MANY = '1000000'
const UNLIMITED = { MAX_PER_IP: MANY, MAX_PER_TENANT: MANY, MAX_TOTAL: MANY, RATE_LIMIT_PER_MIN: MANY }

interface Loop {
  readonly heldMs: number
  readonly activeMs: number
}

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
    const reloads = await reloadAlone(gateway, part.rounds)
    part.progress(`streams: opening ${COUNT} sessions and their streams`)
    const ids: string[] = []
    const session = await costOf(gateway, async () => void ids.push(...(await openSessions(gateway, COUNT))))
    const stream = await costOf(gateway, () => streams.add(COUNT, at => headersOf(gateway, ids[at]!)))
    const reported: (Loop & { readonly spreadMs: number })[] = []
    for (let round = 1; round <= part.rounds; round++) {
      part.progress(`streams: notifying them all, round ${round} of ${part.rounds}`)
      reported.push(await reportAll(gateway, streams))
    }
    streams.close()
    report(part, { session, stream, reported, reloads, bareUs: await bareUs(part) })
  } finally {
    streams.close()
    await gateway.stop()
  }
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
async function reloadAlone(gateway: Toolgate, rounds: number): Promise<readonly Loop[]> {
  const tools = async (): Promise<string | undefined> =>
    /^platform_tools (\d+)$/m.exec(await (await fetch(`${gateway.metrics_url}/metrics`)).text())?.[1]
  const reported: Loop[] = []
  for (let round = 0; round <= rounds; round++) {
    const before = await tools()
    await loopOf(gateway)
    gateway.changeTools()
    const until = Date.now() + ARRIVE_MS
    while ((await tools()) === before) {
      if (Date.now() > until) throw new Error('the gateway does not follow its tool-sets')
      await sleep(50)
    }
    reported.push(await loopOf(gateway))
  }
  // the first one runs code that has never run
  return reported.slice(1)
}

async function costOf(
  gateway: Toolgate,
  what: () => Promise<void>,
): Promise<{ readonly heapKiB: number; readonly rssKiB: number }> {
  const before = (await gateway.ask('memory')) as Memory
  await what()
  const after = (await gateway.ask('memory')) as Memory
  const each = (bytes: (memory: Memory) => number): number => (bytes(after) - bytes(before)) / COUNT / 1024
  return {
    heapKiB: each(({ heapBytes, externalBytes }) => heapBytes + externalBytes),
    rssKiB: each(({ rssBytes }) => rssBytes),
  }
}

async function reportAll(
  gateway: Toolgate,
  streams: IdleStreams,
): Promise<Loop & { readonly spreadMs: number }> {
  streams.watchFor('notifications/tools/list_changed')
  await loopOf(gateway)
  gateway.changeTools()
  const arrivals = await streams.arrivals(ARRIVE_MS)
  return { spreadMs: arrivals.at(-1)! - arrivals[0]!, ...(await loopOf(gateway)) }
}

/** CPU time of a bare uWS for each stream, by rounds. */
async function bareUs(part: Part): Promise<readonly number[]> {
  part.progress(`streams: a bare uWS and ${COUNT} streams`)
  const server = await startServer(new URL('./server.ts', import.meta.url).pathname, ['streams'], 'server')
  const url = `http://127.0.0.1:${server.said}/mcp`
  const streams = new IdleStreams(url)
  try {
    await streams.add(COUNT, () => ({}))
    const each: number[] = []
    for (let round = 0; round <= part.rounds; round++) {
      const before = server.cpuUs()
      for (let notify = 0; notify < BARE_NOTIFICATIONS; notify++) {
        streams.watchFor('notifications/tools/list_changed')
        await (await fetch(url, { method: 'POST' })).text()
        await streams.arrivals(ARRIVE_MS)
      }
      each.push((server.cpuUs() - before) / BARE_NOTIFICATIONS / COUNT)
    }
    return each.slice(1)
  } finally {
    streams.close()
    await server.stop()
  }
}

interface Found {
  readonly session: { readonly heapKiB: number; readonly rssKiB: number }
  readonly stream: { readonly heapKiB: number; readonly rssKiB: number }
  readonly reported: readonly (Loop & { readonly spreadMs: number })[]
  readonly reloads: readonly Loop[]
  readonly bareUs: readonly number[]
}

function report(part: Part, { session, stream, reported, reloads, bareUs }: Found): void {
  const lower = { better: 'lower', setup: { streams: COUNT, pinned: part.pinned } } as const
  const reloadMs = spread(reloads.map(({ activeMs }) => activeMs)).median
  const perStreamUs = reported.map(({ activeMs }) => ((activeMs - reloadMs) * 1000) / COUNT)
  const memory = { suite: 'http/memory', metric: 'memory', unit: 'KiB', ...lower } as const
  part.write({ ...memory, case: 'session', samples: [session.heapKiB] })
  part.write({ ...memory, case: 'stream', samples: [stream.heapKiB] })
  part.write({ ...memory, metric: 'resident', case: 'session', samples: [session.rssKiB] })
  part.write({ ...memory, metric: 'resident', case: 'stream', samples: [stream.rssKiB] })
  const broadcast = { suite: 'http/sse', case: `broadcast-${COUNT}`, ...lower } as const
  const ns = (us: readonly number[]): readonly number[] => us.map(each => each * 1000)
  const bare = { case: `http/sse/bare-uws-${COUNT}`, samples: ns(bareUs) }
  part.write({ ...broadcast, case: `bare-uws-${COUNT}`, metric: 'time', unit: 'ns', samples: bare.samples })
  part.write({ ...broadcast, metric: 'time', unit: 'ns', samples: ns(perStreamUs), reference: bare })
  part.write({ ...broadcast, metric: 'loop-held', unit: 'ms', samples: reported.map(({ heldMs }) => heldMs) })
  part.write({ ...broadcast, metric: 'reach', unit: 'ms', samples: reported.map(({ spreadMs }) => spreadMs) })
  part.write({
    ...broadcast,
    case: 'reload-alone',
    metric: 'loop-held',
    unit: 'ms',
    samples: reloads.map(({ heldMs }) => heldMs),
  })
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
      row('event loop for each stream notified', 'µs', perStreamUs),
      row('the same of bare uWS, one after the other', 'µs', bareUs),
      row(
        'event loop held at most',
        'ms',
        reported.map(({ heldMs }) => heldMs),
      ),
      row(
        '… by the new list alone',
        'ms',
        reloads.map(({ heldMs }) => heldMs),
      ),
      row(
        'from the first stream to the last',
        'ms',
        reported.map(({ spreadMs }) => spreadMs),
      ),
    ],
    [1, 2],
  )
}
