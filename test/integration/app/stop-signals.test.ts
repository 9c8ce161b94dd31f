/** `toolgate config follow` as a process of the sources: SIGTERM and SIGINT end it with 0 while a request waits for a response. No cluster runs. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { startOwnTime } from '../../fixtures/own-time.ts'
import { processEnv } from '../../fixtures/process-env.ts'

const INDEX = new URL('../../../src/app/cli/index.ts', import.meta.url).pathname
const GROUP = '/apis/toolgate.dev/v1alpha1'
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/toolgate/leases'
const SOON = { timeout: 30_000 }
/** The shortest time-out of a request that is not ended is 10 s. */
const MAX_STOP_MS = 5_000

const folders: string[] = []
const servers: Server[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  }
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  servers.push(server)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function start(cluster: string, env: Record<string, string>): ChildProcess {
  const folder = mkdtempSync(join(tmpdir(), 'toolgate-signals-'))
  folders.push(folder)
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { server: cluster, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'u', user: { token: 't' } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  }
  writeFileSync(join(folder, 'kubeconfig'), JSON.stringify(config))
  return spawn(process.execPath, ['--import', 'tsx', INDEX, 'config', 'follow'], {
    env: {
      ...processEnv(),
      KUBECONFIG: join(folder, 'kubeconfig'),
      TOOLGATE_TOKEN: 'token',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

/** A cluster with one GatewayBinding and one Lease. @returns also the requests that change something, with their bodies */
async function clusterWithBinding() {
  const changes: { readonly line: string; readonly body: Record<string, unknown> }[] = []
  let lease: object | undefined
  const metadata = { resourceVersion: '1' }
  const binding = {
    metadata: {
      ...metadata,
      name: 'orders',
      namespace: 'tenant-acme',
      uid: 'one',
      finalizers: ['toolgate.dev/binding'],
    },
    spec: { path: '/orders', api: { name: 'Orders', version: '1' } },
  }
  const url = await serve(async (request, response) => {
    const { method = '', url = '' } = request
    const [path = '', query = ''] = url.split('?')
    const text = (await request.toArray()).join('')
    const reply = (status: number, body: object): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    }
    if (method !== 'GET') changes.push({ line: `${method} ${path}`, body: JSON.parse(text) })
    // an open watch without events
    if (query.includes('watch=')) return void response.writeHead(200).flushHeaders()
    if (path.startsWith(LEASES)) {
      if (method !== 'GET')
        lease = { ...JSON.parse(text), metadata: { name: 'l', resourceVersion: `${changes.length}` } }
      return lease === undefined ? reply(404, { kind: 'Status', code: 404 }) : reply(200, lease)
    }
    const items = path === `${GROUP}/gatewaybindings` ? [binding] : []
    reply(200, { apiVersion: 'toolgate.dev/v1alpha1', kind: 'List', metadata, items })
  })
  return { url, changes }
}

it.each(['SIGTERM', 'SIGINT'] as const)(
  'config follow ends with 0 at %s while its first request to the cluster waits',
  async signal => {
    let requests = 0
    const child = start(await serve(() => requests++), {})
    await expect.poll(() => requests, SOON).toBeGreaterThan(0)
    const ended = once(child, 'exit')
    const elapsedMs = startOwnTime()
    child.kill(signal)
    // a process without a listener would end by the signal, and as process 1 of a container not at all
    expect(await ended).toEqual([0, null])
    expect(elapsedMs()).toBeLessThan(MAX_STOP_MS)
  },
  60_000,
)

it.each(['GET /v1/gateways', 'POST /v1/config'])(
  'config follow ends with 0 at SIGTERM while %s waits for the control plane, releases the Lease, and writes no status',
  async silent => {
    const { url: cluster, changes } = await clusterWithBinding()
    let waiting = 0
    const plane = await serve((request, response) => {
      if (`${request.method} ${request.url?.split('?')[0]}` === silent) waiting++
      else response.writeHead(200, { 'content-type': 'application/json' }).end('{"items":[]}')
    })
    const child = start(cluster, { API_URL: plane })
    await expect.poll(() => waiting, SOON).toBe(1)
    const ended = once(child, 'exit')
    const elapsedMs = startOwnTime()
    child.kill('SIGTERM')
    expect(await ended).toEqual([0, null])
    expect(elapsedMs()).toBeLessThan(MAX_STOP_MS)
    const { line, body } = changes.at(-1)!
    expect(line).toMatch(/^PUT .*\/leases\//)
    expect(body).toMatchObject({ spec: { holderIdentity: '' } })
    expect(changes.filter(change => change.line.endsWith('/status'))).toEqual([])
    expect(waiting).toBe(1)
  },
  60_000,
)
