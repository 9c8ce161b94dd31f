/** A process with the backends of a tenant that floods them, and its calls. The parent sends a `Flood`; the reply counts statuses. */
import { Agent, createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { atRate } from '../fixtures/open-loop.ts'
import { callForStatus } from '../fixtures/tool-calls.ts'
import { LARGE } from './large-response.ts'

export interface Flood {
  /** Of the gateway, where tools are called. */
  readonly url: string
  readonly token: string
  /** Called in turn. */
  readonly tools: readonly string[]
  /** Length of the argument `text`; 0: none. */
  readonly textLength: number
  readonly perSecond: number
  readonly forMs: number
}

/** Ports of the backends, the first message of the child. */
export interface FloodPorts {
  /** Accept calls and never respond. */
  readonly hanging: readonly number[]
  /** A second for each call. */
  readonly slow: number
  /** 8 MB of JSON. */
  readonly large: number
  /** Closes each connection in place of a response. */
  readonly failing: number
  readonly quick: number
}

const HANGING = 6
const SLOW_MS = 1_000
const MAX_IN_FLIGHT = 4_000
const agent = new Agent({ keepAlive: true, maxSockets: MAX_IN_FLIGHT })

async function listen(respond: (response: ServerResponse) => void): Promise<number> {
  const server: Server = createServer(
    (asked, response) => void asked.resume().on('end', () => respond(response)),
  )
  server.keepAliveTimeout = 60_000
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', 8_192, resolve))
  return (server.address() as AddressInfo).port
}

const respondJson = (response: ServerResponse, body: string | Buffer): void =>
  void response.writeHead(200, { 'content-type': 'application/json' }).end(body)

async function run({
  url,
  token,
  tools,
  textLength,
  perSecond,
  forMs,
}: Flood): Promise<Record<string, number>> {
  const statuses: Record<string, number> = {}
  const args = textLength === 0 ? {} : { text: 'a'.repeat(textLength) }
  const bodies = tools.map(name => JSON.stringify({ name, arguments: args }))
  let inFlight = 0
  const until = performance.now() + forMs
  await atRate(
    perSecond,
    () => performance.now() < until,
    made => {
      if (inFlight >= MAX_IN_FLIGHT) return
      inFlight++
      void callForStatus({ url, token, agent }, bodies[made % bodies.length]!).then(status => {
        inFlight--
        statuses[status] = (statuses[status] ?? 0) + 1
      })
    },
  )
  // calls that end later are not counted
  return { ...statuses }
}

const ports: FloodPorts = {
  hanging: await Promise.all(Array.from({ length: HANGING }, () => listen(() => {}))),
  slow: await listen(response => setTimeout(respondJson, SLOW_MS, response, '{"ok":true}')),
  large: await listen(response => respondJson(response, LARGE)),
  failing: await listen(response => response.destroy()),
  quick: await listen(response => respondJson(response, '{"ok":true}')),
}
process.on('message', (flood: Flood) => void run(flood).then(statuses => process.send!(statuses)))
process.send!(ports)
