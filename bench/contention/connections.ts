/** Opens connections to a gateway with several threads, counts how many each thread got, and computes how even a spread is. It judges nothing. */
import { Agent, request } from 'node:http'
import type { Deployment } from '../../test/fixtures/deployment.ts'
import { Random } from './random.ts'

export interface Spread {
  /** Connections of each thread. */
  readonly counts: readonly number[]
  /** Pearson's statistic of an even spread; of a random one its mean is the number of threads less one. */
  readonly chiSquare: number
}

/** Of an even spread over four threads: a random one is above it once in 1,000, and once in 1,000,000 times. */
export const CHI_SQUARE_OF_4 = { oneIn1000: 16.27, oneIn1000000: 30.66 } as const

const CALL = JSON.stringify({ name: 'shop_getProduct', arguments: { productId: 'P-1001' } })
/** Opened at once; more would overflow the queue of a listener. */
const AT_ONCE = 50

/** One call on each connection, which stays open: the calls of a thread are its connections. @param token of an administrator */
export async function spreadConnections(
  gateway: Deployment,
  token: string,
  connections: number,
): Promise<Spread> {
  const agents: Agent[] = []
  const before = await callsByWorker(gateway, token)
  try {
    for (let opened = 0; opened < connections; opened += AT_ONCE)
      await Promise.all(
        Array.from({ length: Math.min(AT_ONCE, connections - opened) }, async () => {
          // a separate agent: a free connection of another call would be used again
          const own = new Agent({ keepAlive: true })
          agents.push(own)
          await call(gateway, own, token)
        }),
      )
    const after = await callsByWorker(gateway, token)
    return spreadOf([...after].map(([worker, calls]) => calls - (before.get(worker) ?? 0)))
  } finally {
    for (const agent of agents) agent.destroy()
  }
}

export function spreadOf(counts: readonly number[]): Spread {
  const mean = counts.reduce((sum, count) => sum + count, 0) / counts.length
  return { counts, chiSquare: counts.reduce((sum, count) => sum + (count - mean) ** 2 / mean, 0) }
}

/** The connections of the busiest thread in parts of the mean, when each goes to a thread by the hash of its addresses. Mean of many draws. */
export function busiestShare(connections: number, threads: number, seed: number): number {
  const random = new Random(seed)
  const draws = 400
  let sum = 0
  for (let draw = 0; draw < draws; draw++) {
    const counts = new Array<number>(threads).fill(0)
    for (let at = 0; at < connections; at++) counts[random.below(threads)]!++
    sum += Math.max(...counts) / (connections / threads)
  }
  return sum / draws
}

async function callsByWorker(gateway: Deployment, token: string): Promise<Map<number, number>> {
  const response = await fetch(`${gateway.url}/admin/workers`, {
    headers: { authorization: `Bearer ${token}` },
  })
  if (!response.ok) throw new Error(`/admin/workers responded ${response.status}: ${await response.text()}`)
  const { workers } = (await response.json()) as { workers: readonly { worker: number; calls: number }[] }
  return new Map(workers.map(({ worker, calls }) => [worker, calls]))
}

function call(gateway: Deployment, agent: Agent, token: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    request(`${gateway.url}/mcp/tools/call`, { method: 'POST', agent, headers }, response => {
      response.resume().on('end', () => {
        if (response.statusCode === 200) resolve()
        else reject(new Error(`a call responded ${response.statusCode}`))
      })
    })
      .on('error', reject)
      .end(CALL)
  })
}
