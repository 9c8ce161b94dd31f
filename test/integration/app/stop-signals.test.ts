/** `toolgate config follow` as a process of the sources: SIGTERM and SIGINT end it with 0 while its first request waits for a response. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'

const INDEX = new URL('../../../src/app/cli/index.ts', import.meta.url).pathname
const folder = mkdtempSync(join(tmpdir(), 'toolgate-signals-'))
let cluster: Server
let requests = 0

/** A cluster whose API server leaves requests without a response. */
beforeAll(async () => {
  cluster = createServer(() => requests++)
  await new Promise<void>(resolve => cluster.listen(0, '127.0.0.1', resolve))
  const server = `http://127.0.0.1:${(cluster.address() as AddressInfo).port}`
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { server, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'u', user: { token: 't' } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  }
  writeFileSync(join(folder, 'kubeconfig'), JSON.stringify(config))
})
afterAll(async () => {
  cluster.closeAllConnections()
  await new Promise(resolve => cluster.close(resolve))
  rmSync(folder, { recursive: true, force: true })
})

function start(...args: string[]): ChildProcess {
  return spawn(process.execPath, ['--import', 'tsx', INDEX, ...args], {
    env: { PATH: process.env.PATH, KUBECONFIG: join(folder, 'kubeconfig'), TOOLGATE_TOKEN: 'token' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

it.each(['SIGTERM', 'SIGINT'] as const)(
  'config follow ends with 0 at %s',
  async signal => {
    requests = 0
    const child = start('config', 'follow')
    await expect.poll(() => requests, { timeout: 20_000 }).toBeGreaterThan(0)
    const ended = once(child, 'exit')
    const sentAt = performance.now()
    child.kill(signal)
    // a process without a listener would end by the signal, and as process 1 of a container not at all
    expect(await ended).toEqual([0, null])
    expect(performance.now() - sentAt).toBeLessThan(5_000)
  },
  40_000,
)
