/**
 * Cost of one upstream call in CPU time of this process: own connections, undici's dispatch, and undici's `request`, in turns, against
 * a bare uWS server in its own process. Every response is checked. `npx tsx bench/http/upstream-load.ts [rounds] [calls]`
 */
import { Pool } from 'undici'
import { createEgress } from '../../src/net/egress/client.ts'
import type { EgressRequest } from '../../src/net/egress/egress.ts'
import { BODY, startEchoServer } from './listener-process.ts'

const IN_FLIGHT = 8
const HEADERS = [
  'content-type',
  'application/json',
  'accept',
  'application/json',
  'x-request-id',
  'req_0123456789abcdef',
]

interface Carrier {
  readonly name: string
  /** @returns bytes of the response */
  call(): Promise<number>
  close(): Promise<void>
}

function egressCarrier(name: string, url: string, ownHttp1: boolean): Carrier {
  const egress = createEgress({ allow: [], allowLoopback: true, ownHttp1 })
  const request: EgressRequest = {
    method: 'POST',
    url,
    headers: HEADERS,
    body: BODY,
    timeoutMs: 5000,
    maxResponseBytes: 1 << 20,
  }
  return {
    name,
    async call() {
      const response = await egress.request(request)
      return response.kind === 'response' && response.status === 200 ? response.body.byteLength : -1
    },
    close: () => egress.close(),
  }
}

function undiciRequest(url: string): Carrier {
  const pool = new Pool(new URL(url).origin, { connections: IN_FLIGHT })
  return {
    name: 'undici request, no guard, no bounds',
    async call() {
      const { statusCode, body } = await pool.request({
        method: 'POST',
        path: '/',
        headers: HEADERS,
        body: BODY,
      })
      const { byteLength } = await body.bytes()
      return statusCode === 200 ? byteLength : -1
    },
    close: () => pool.close(),
  }
}

/** @returns µs of CPU (user and system) of this process per call */
async function run(carrier: Carrier, calls: number): Promise<number> {
  let left = calls
  const before = process.cpuUsage()
  await Promise.all(
    Array.from({ length: IN_FLIGHT }, async () => {
      while (left-- > 0)
        if ((await carrier.call()) !== BODY.length) throw new Error(`${carrier.name}: a wrong response`)
    }),
  )
  const { user, system } = process.cpuUsage(before)
  return (user + system) / calls
}

async function main(): Promise<void> {
  const [rounds = '5', calls = '20000'] = process.argv.slice(2)
  const server = await startEchoServer('bare')
  const url = `http://127.0.0.1:${server.port}/`
  const carriers = [
    egressCarrier('own connections', url, true),
    egressCarrier('undici dispatch', url, false),
    undiciRequest(url),
  ]
  const figures = new Map<string, number[]>(carriers.map(({ name }) => [name, []]))
  for (const carrier of carriers) await run(carrier, Number(calls))
  for (let round = 0; round < Number(rounds); round++)
    for (const carrier of carriers) figures.get(carrier.name)!.push(await run(carrier, Number(calls)))
  for (const carrier of carriers) await carrier.close()
  server.stop()
  const median = (values: number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1]!
  const own = median(figures.get('own connections')!)
  console.table(
    [...figures].map(([client, values]) => ({
      client,
      'CPU µs per call': median(values).toFixed(1),
      spread: `${Math.min(...values).toFixed(1)}–${Math.max(...values).toFixed(1)}`,
      'times own': (median(values) / own).toFixed(2),
    })),
  )
}

await main()
