/**
 * `npm run bench:http`: the built gateway under load beside bare servers and peers, in turns, each process pinned to one processor.
 * Options: `--rounds N`, `--seconds S` per case, `--connections N`, `--filter TEXT`, `--json` (NDJSON), `--workers N`.
 * Cost is CPU time per request from the kernel's accounting: the load generator's own limit does not show in it.
 */
import { execFileSync } from 'node:child_process'
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { type Child, startServer } from './child.ts'
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
  readonly name: string
  readonly url: string
  readonly server: Child
  readonly request: LoadRequest
  /** Name of the case it is compared with. */
  readonly of?: string
  /** Answers that one request holds. */
  readonly calls?: number
}

interface Round {
  readonly perSecond: number
  readonly cpuUs: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly p999Ms: number
}

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '4' },
    connections: { type: 'string', default: '8' },
    filter: { type: 'string', default: '' },
    workers: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
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
    { name: BARE_UWS, ...(await peer('echo')), request: BARE },
    { name: 'toolgate: GET /health', ...ours, request: HEALTH, of: BARE_UWS },
    { name: 'toolgate: ping with token', ...ours, request: asAdmin(PING), of: BARE_UWS },
    { name: 'toolgate: tools/list, 30 tools', ...ours, request: asAdmin(LIST), of: BARE_UWS },
    ...(nginx === undefined
      ? []
      : [
          { name: NGINX, server: nginx, url: at(nginx), request: FORWARDED },
          { name: NGINX_GET, server: nginx, url: at(nginx), request: FORWARDED_GET },
        ]),
    { name: UNDICI, ...(await peer('uws-undici')), request: FORWARDED },
    { name: 'toolgate: tools/call, JSON-RPC', ...ours, request: asAdmin(CALL_RPC), of: proxied },
    { name: 'toolgate: tools/call, REST', ...ours, request: asAdmin(CALL_REST), of: proxied },
    {
      name: 'toolgate: batch of 10 calls, per call',
      ...ours,
      request: asAdmin(BATCH),
      of: proxied,
      calls: 10,
    },
    {
      name: 'toolgate: proxied GET with API key',
      ...ours,
      request: withKey,
      of: nginx === undefined ? UNDICI : NGINX_GET,
    },
    { name: 'fastify http-proxy, POST', ...(await peer('fastify')), request: FORWARDED, of: proxied },
    {
      name: 'official MCP SDK server, tools/call',
      ...(await peer('mcp-sdk')),
      request: CALL_RPC,
      of: proxied,
    },
  ]
}

async function measure(one: Case, seconds: number): Promise<Round> {
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
  const rounds = new Map<string, Round[]>(all.map(({ name }) => [name, []]))
  for (const one of all) await measure(one, 1)
  for (let round = 0; round < Number(options.rounds); round++) {
    process.stderr.write(`round ${round + 1} of ${options.rounds}\n`)
    for (const one of all) rounds.get(one.name)!.push(await measure(one, Number(options.seconds)))
  }
  const cpu = (name: string): number => median(rounds.get(name)!.map(({ cpuUs }) => cpuUs))
  const machine = {
    commit: commit(),
    node: process.version,
    cpu: cpus()[0]?.model.trim(),
    workers: Number(options.workers),
    connections: Number(options.connections),
    at: new Date().toISOString(),
  }
  if (options.json) console.log(JSON.stringify(machine))
  const table = all.map(({ name, of, server }) => {
    const runs = rounds.get(name)!
    const each = runs.map(({ cpuUs }) => cpuUs)
    const row = {
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
    if (options.json) console.log(JSON.stringify(row))
    return row
  })
  if (!options.json) {
    console.log(
      Object.entries(machine)
        .map(([name, value]) => `${name} ${value}`)
        .join(' · '),
    )
    console.table(table)
  }
}

function commit(): string {
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim()
  } catch {
    return 'unknown'
  }
}

try {
  await main()
} finally {
  for (const child of running.reverse()) await child.stop()
}
