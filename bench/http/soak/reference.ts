/** The same rate on a bare uWS server: the tail that the machine and the load make by themselves. */
import { fileURLToPath } from 'node:url'
import { startServer } from '../load/child.ts'
import { openLoop } from '../load/open-loop.ts'
import { BARE } from '../load/requests.ts'
import { prepare } from '../load/wire.ts'
import { Latencies, type Tails } from './latencies.ts'
import { OwnPauses, windowsOf } from './pauses.ts'

const SERVER = fileURLToPath(new URL('../load/server.ts', import.meta.url))

export interface Reference {
  /** Outside collections of the load. */
  readonly tails: Tails
  /** Share of its processor that the server used. */
  readonly busy: number
}

export async function bareServer(options: {
  readonly perSecond: number
  readonly connections: number
  readonly seconds: number
}): Promise<Reference> {
  const server = await startServer(SERVER, ['echo'], 'server')
  try {
    const url = `http://127.0.0.1:${server.said}`
    const kind = { name: 'bare', weight: 100, request: prepare(url, BARE) }
    const latencies = new Latencies([kind])
    const own = new OwnPauses()
    const before = server.cpuUs()
    await openLoop({
      ...options,
      url,
      next: () => kind.request,
      record: (_request, dueMs, latencyMs) => latencies.add(kind, dueMs, latencyMs),
    })
    const busy = (server.cpuUs() - before) / 1e6 / options.seconds
    latencies.settle(windowsOf(own.take(), busy), [], true)
    return { tails: latencies.tails().outside, busy }
  } finally {
    await server.stop()
  }
}
