/**
 * Starts rungs in their processes, with the request that their callers send, and counts what a call of one allocates: in a separate process,
 * with a young generation that no collection empties during the count.
 */
import { spread } from '../../statistics.ts'
import { type Child, type Side, startChild } from '../load/child.ts'
import { saturate } from '../load/closed-loop.ts'
import { callInSession, callWithoutSession, modernCall, proxiedGet } from '../load/gateway-calls.ts'
import { CALL_RPC, type LoadRequest, over } from '../load/requests.ts'
import { INSIDE, startToolgate, type Toolgate } from '../load/toolgate.ts'
import { prepare } from '../load/wire.ts'
import type { GatewayCall } from './rung-list.ts'

/** MiB; all that so many calls allocate fits in. */
const YOUNG_MIB = 1024
const YOUNG_OPTIONS = [`--max-semi-space-size=${YOUNG_MIB}`, `--min-semi-space-size=${YOUNG_MIB}`]
/** Optimized by then: with fewer, the figures of two runs differ by more than a percent. */
export const WARM_CALLS = 4000
/** The compiler allocates up to 250 KB at once, in one of them: their median is what a call allocates. */
const COUNTS = 7
const COUNTED_CALLS = 400
const CONNECTIONS = 8

export const CALL: LoadRequest = {
  ...CALL_RPC,
  body: JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'get_order', arguments: { id: 'P-1001' } },
  }),
}

export interface ServedRung {
  readonly server: Child
  readonly url: string
  readonly request: LoadRequest
}

/** `counting`: bytes are counted in it, and nothing is timed. */
export interface RungOptions {
  readonly backend: string
  readonly side: Side
  readonly counting: boolean
}

/** @param file `server.ts` as `bundledServer` joined it */
export async function startRung(
  file: string,
  rung: string,
  { backend, side, counting }: RungOptions,
): Promise<ServedRung> {
  const args = [...(counting ? YOUNG_OPTIONS : []), '--import', INSIDE, file, rung, backend]
  const server = await startChild(process.execPath, args, { side, questions: true })
  const { port, token } = JSON.parse(server.said) as { port: number; token: string }
  return {
    server,
    url: `http://127.0.0.1:${port}`,
    request: over(CALL, { authorization: `Bearer ${token}` }),
  }
}

const REQUESTS: {
  readonly [call in GatewayCall]: (gateway: Toolgate) => LoadRequest | Promise<LoadRequest>
} = {
  gateway: callWithoutSession,
  'gateway-session': callInSession,
  'gateway-modern': modernCall,
  'gateway-proxied': proxiedGet,
}

export function isGatewayCall(rung: string): rung is GatewayCall {
  return Object.hasOwn(REQUESTS, rung)
}

/** The built gateway, with one thread, beside its control plane. */
export async function startGatewayRung(
  call: GatewayCall,
  { backend, side, counting }: RungOptions,
): Promise<ServedRung> {
  const server = await startToolgate({
    upstream: backend,
    workers: 1,
    side,
    ...(counting ? { nodeOptions: YOUNG_OPTIONS, controlSide: 'any' } : {}),
  })
  return { server, url: server.url, request: await REQUESTS[call](server) }
}

/**
 * On the JavaScript heap, by a call. The process is stopped.
 * @throws Error when a collection made the figure wrong
 */
export async function bytesPerCall({ server, url, request }: ServedRung): Promise<number> {
  try {
    await send({ url, request }, WARM_CALLS)
    const read = async () => (await server.ask('allocated')) as { bytes: number; collections: number }
    const first = await read()
    let last = first
    const counts: number[] = []
    while (counts.length < COUNTS) {
      await send({ url, request }, COUNTED_CALLS)
      const now = await read()
      counts.push((now.bytes - last.bytes) / COUNTED_CALLS)
      last = now
    }
    if (last.collections > first.collections) throw new Error('a collection ran while bytes were counted')
    return spread(counts).median
  } finally {
    await server.stop()
  }
}

/** So many calls over connections of this process, each response checked. */
export async function send(
  { url, request }: Pick<ServedRung, 'url' | 'request'>,
  calls: number,
): Promise<void> {
  const prepared = prepare(url, request)
  let left = calls
  await saturate({ url, connections: CONNECTIONS, next: () => (left-- > 0 ? prepared : undefined) })
}
