/**
 * `npm run bench:http`: the built gateway under load beside bare servers and peers, in turns, each process pinned to one processor.
 * Options: `--rounds N`, `--seconds S` per case, `--connections N`, `--filter TEXT`, `--json` (NDJSON on stdout), `--workers N`,
 * `--out FILE` (results, `bench/record.ts`; a new file in bench/results/ when absent).
 * Cost is CPU time per request from the kernel's accounting: the load generator's own limit does not show in it.
 */
import { parseArgs } from 'node:util'
import { openResults } from '../../record.ts'
import { type Child, startServer } from './child.ts'
import { type LoadRound, writeLoadCase } from './lines.ts'
import { hasNginx, startNginx } from './nginx.ts'
import {
  BARE,
  BATCH,
  CALL_REST,
  CALL_RPC,
  FORWARDED,
  FORWARDED_GET,
  HEALTH,
  LIST,
  type LoadRequest,
  PING,
} from './requests.ts'
import { shoot } from './shoot.ts'
import { startToolgate } from './toolgate.ts'

interface Case {
  /** Behind `http/load/` in the results: `toolgate/tools-call`. */
  readonly id: string
  readonly name: string
  readonly url: string
  readonly server: Child
  readonly request: LoadRequest
  /** Name of the case it is compared with. */
  readonly of?: string
  /** Answers that one request holds. */
  readonly calls?: number
}

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '4' },
    connections: { type: 'string', default: '8' },
    filter: { type: 'string', default: '' },
    workers: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
    out: { type: 'string' },
  },
})
const SERVER = new URL('./server.ts', import.meta.url).pathname
const BARE_UWS = 'bare uWS, POST read and discarded'
const NGINX = 'nginx proxy_pass, POST, no check'
const NGINX_GET = 'nginx proxy_pass, GET, no check'
const UNDICI = 'bare uWS to undici, POST'

const running: Child[] = []
async function own<T extends Child>(child: Promise<T>): Promise<T> {
  const started = await child
  running.push(started)
  return started
}

async function cases(): Promise<readonly Case[]> {
  const at = (child: Child): string => `http://127.0.0.1:${child.said}`
  const backend = at(await own(startServer(SERVER, ['backend'], 'load')))
  const peer = async (kind: string): Promise<{ server: Child; url: string }> => {
    const server = await own(startServer(SERVER, [kind, backend], 'server'))
    return { server, url: at(server) }
  }
  const toolgate = await own(startToolgate(backend, Number(options.workers)))
  const ours = { server: toolgate, url: toolgate.url }
  const bearer = { authorization: `Bearer ${toolgate.token}` }
  const asAdmin = (request: LoadRequest): LoadRequest => ({
    ...request,
    headers: { ...request.headers, ...bearer },
  })
  const withKey = {
    ...FORWARDED_GET,
    path: `/t/acme/bench${FORWARDED_GET.path}`,
    headers: { 'x-api-key': toolgate.apiKey },
  }
  const nginx = hasNginx() ? await own(startNginx(backend)) : undefined
  const proxied = nginx === undefined ? UNDICI : NGINX
  return [
    { id: 'bare/uws-post', name: BARE_UWS, ...(await peer('echo')), request: BARE },
    { id: 'toolgate/health', name: 'toolgate: GET /health', ...ours, request: HEALTH, of: BARE_UWS },
    { id: 'toolgate/ping', name: 'toolgate: ping with token', ...ours, request: asAdmin(PING), of: BARE_UWS },
    {
      id: 'toolgate/tools-list',
      name: 'toolgate: tools/list, 30 tools',
      ...ours,
      request: asAdmin(LIST),
      of: BARE_UWS,
    },
    ...(nginx === undefined
      ? []
      : [
          { id: 'nginx/post', name: NGINX, server: nginx, url: at(nginx), request: FORWARDED },
          { id: 'nginx/get', name: NGINX_GET, server: nginx, url: at(nginx), request: FORWARDED_GET },
        ]),
    { id: 'bare/uws-undici', name: UNDICI, ...(await peer('uws-undici')), request: FORWARDED },
    {
      id: 'toolgate/tools-call',
      name: 'toolgate: tools/call, JSON-RPC',
      ...ours,
      request: asAdmin(CALL_RPC),
      of: proxied,
    },
    {
      id: 'toolgate/tools-call-rest',
      name: 'toolgate: tools/call, REST',
      ...ours,
      request: asAdmin(CALL_REST),
      of: proxied,
    },
    {
      id: 'toolgate/batch-of-10',
      name: 'toolgate: batch of 10 calls, per call',
      ...ours,
      request: asAdmin(BATCH),
      of: proxied,
      calls: 10,
    },
    {
      id: 'toolgate/proxied-get',
      name: 'toolgate: proxied GET with API key',
      ...ours,
      request: withKey,
      of: nginx === undefined ? UNDICI : NGINX_GET,
    },
    {
      id: 'peer/fastify-http-proxy',
      name: 'fastify http-proxy, POST',
      ...(await peer('fastify')),
      request: FORWARDED,
      of: proxied,
    },
    {
      id: 'peer/mcp-sdk',
      name: 'official MCP SDK server, tools/call',
      ...(await peer('mcp-sdk')),
      request: CALL_RPC,
      of: proxied,
    },
  ]
}

async function measure(one: Case, seconds: number): Promise<LoadRound> {
  const before = one.server.cpuUs()
  const shot = await shoot({
    url: one.url,
    request: one.request,
    connections: Number(options.connections),
    seconds,
  })
  const calls = one.calls ?? 1
  return {
    ...shot,
    perSecond: shot.requestsPerSecond * calls,
    cpuUs: (one.server.cpuUs() - before) / shot.requests / calls,
  }
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1]!

async function main(): Promise<void> {
  const all = (await cases()).filter(({ name, of }) => name.includes(options.filter) || of === undefined)
  const rounds = new Map<string, LoadRound[]>(all.map(({ name }) => [name, []]))
  for (const one of all) await measure(one, 1)
  for (let round = 0; round < Number(options.rounds); round++) {
    process.stderr.write(`round ${round + 1} of ${options.rounds}\n`)
    for (const one of all) rounds.get(one.name)!.push(await measure(one, Number(options.seconds)))
  }
  const cpu = (name: string): number => median(rounds.get(name)!.map(({ cpuUs }) => cpuUs))
  const results = openResults('http', options.out)
  const setup = {
    loop: 'closed',
    workers: Number(options.workers),
    connections: Number(options.connections),
    seconds: Number(options.seconds),
  }
  const table = all.map(({ id, name, of, server }) => {
    const runs = rounds.get(name)!
    const each = runs.map(({ cpuUs }) => cpuUs)
    const reference = all.find(other => other.name === of)
    const lines = writeLoadCase(
      results,
      { id, rounds: runs },
      reference && { id: reference.id, rounds: rounds.get(reference.name)! },
      { rssMiB: server.rssMiB(), setup },
    )
    if (options.json) for (const line of lines) console.log(JSON.stringify(line))
    return {
      case: name,
      'req/s': Math.round(median(runs.map(({ perSecond }) => perSecond))),
      'CPU µs': Number(cpu(name).toFixed(1)),
      spread: `${Math.min(...each).toFixed(1)}–${Math.max(...each).toFixed(1)}`,
      'of reference': of === undefined ? '' : Number((cpu(of) / cpu(name)).toFixed(2)),
      reference: of ?? '',
      'p50 ms': median(runs.map(({ p50Ms }) => p50Ms)),
      'p99 ms': median(runs.map(({ p99Ms }) => p99Ms)),
      'RSS MiB': Math.round(server.rssMiB()),
    }
  })
  if (!options.json) console.table(table)
  process.stderr.write(`${results.file}\n`)
}

try {
  await main()
} finally {
  for (const child of running.reverse()) await child.stop()
}
