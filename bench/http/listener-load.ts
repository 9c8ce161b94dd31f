/**
 * Load test of the listeners: a JSON-RPC POST echoed by bare uWS, by our uWS listener and by our node listener,
 * each in a fresh process, in turns, under autocannon. Every response after the warm-up is checked, and one wrong
 * response ends the test with an error.
 */
import autocannon from 'autocannon'
import { BODY, CASES, HEADERS, type ListenerCase, startEchoServer } from './listener-process.ts'

/** Medians over the rounds. */
export interface LoadFigures {
  readonly requestsPerSecond: number
  readonly p99Ms: number
  /** CPU time of the server process per request: what a load generator at its limit would hide. */
  readonly cpuUs: number
}

export interface LoadOptions {
  readonly rounds: number
  readonly seconds: number
  readonly connections: number
}

/** Runs every case once per round, so that a slow minute of the machine falls on all of them. */
export async function loadListeners(options: LoadOptions): Promise<ReadonlyMap<ListenerCase, LoadFigures>> {
  const runs = new Map<ListenerCase, LoadFigures[]>(CASES.map(name => [name, []]))
  for (let round = 0; round < options.rounds; round++) {
    for (const name of CASES) runs.get(name)!.push(await loadCase(name, options))
  }
  return new Map(
    CASES.map(name => {
      const of = (value: (run: LoadFigures) => number): number => median(runs.get(name)!.map(value))
      return [
        name,
        {
          requestsPerSecond: of(run => run.requestsPerSecond),
          p99Ms: of(run => run.p99Ms),
          cpuUs: of(run => run.cpuUs),
        },
      ]
    }),
  )
}

async function loadCase(name: ListenerCase, { seconds, connections }: LoadOptions): Promise<LoadFigures> {
  const server = await startEchoServer(name)
  const runClosedLoop = (duration: number) =>
    autocannon({
      url: `http://127.0.0.1:${server.port}/mcp/sse`,
      method: 'POST',
      headers: HEADERS,
      body: BODY,
      expectBody: BODY,
      connections,
      duration,
    })
  try {
    await runClosedLoop(1)
    const before = await server.cpuUs()
    const result = await runClosedLoop(seconds)
    const cpuUs = (await server.cpuUs()) - before
    const wrong = result.mismatches + result.non2xx + result.errors + result.timeouts
    if (wrong > 0) throw new Error(`${name}: wrong responses: ${wrong}; the run does not count`)
    return {
      requestsPerSecond: result.requests.average,
      p99Ms: result.latency.p99,
      cpuUs: cpuUs / result.requests.total,
    }
  } finally {
    server.stop()
  }
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[Math.floor(values.length / 2)]!
}

/** `npx tsx bench/http/listener-load.ts [rounds] [seconds]` prints the table. */
async function main(): Promise<void> {
  const [rounds = '3', seconds = '5'] = process.argv.slice(2)
  const figures = await loadListeners({ rounds: Number(rounds), seconds: Number(seconds), connections: 32 })
  const bare = figures.get('bare')
  console.table(
    [...figures].map(([listener, { requestsPerSecond, p99Ms, cpuUs }]) => ({
      listener,
      'requests/s': Math.round(requestsPerSecond),
      'of bare uWS': bare && (requestsPerSecond / bare.requestsPerSecond).toFixed(2),
      'p99 ms': p99Ms,
      'server CPU µs/request': cpuUs.toFixed(2),
      'bare CPU / its CPU': bare && (bare.cpuUs / cpuUs).toFixed(2),
    })),
  )
}

if (process.argv[1] === import.meta.filename) await main()
