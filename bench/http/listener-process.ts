/**
 * Starts the echo servers of the listener and upstream benches in their own processes, and holds the request that
 * the benches send.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { listenerSupport } from '../../src/net/server/create.ts'
import type { Cpu, Question, Ready } from './listener-server.ts'

/** `bare` is uWS without any of our code; it and `uws` are left out where the native build does not load. */
export type ListenerCase = 'bare' | 'uws' | 'node'

export const CASES: readonly ListenerCase[] = listenerSupport().kinds.includes('uws')
  ? ['bare', 'uws', 'node']
  : ['node']

export const BODY = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: {
    name: 'getOrder',
    arguments: { orderId: 'ord_1001', expand: true, fields: ['id', 'total', 'lines'] },
  },
})

/** What an MCP client sends, in order, without Host and Content-Length. */
export const HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'user-agent': 'toolgate-bench/1',
}

export interface EchoServer {
  readonly port: number
  /** User and system time of the server process since its start, µs. */
  cpuUs(): Promise<number>
  stop(): void
}

export async function startEchoServer(name: ListenerCase): Promise<EchoServer> {
  const server = fork(join(import.meta.dirname, 'listener-server.ts'), [name], {
    execArgv: ['--import', 'tsx'],
  })
  const [{ port }] = (await once(server, 'message')) as [Ready]
  return {
    port,
    async cpuUs() {
      server.send('cpu' satisfies Question)
      const [{ cpuUs }] = (await once(server, 'message')) as [Cpu]
      return cpuUs
    },
    stop: () => void server.kill(),
  }
}
