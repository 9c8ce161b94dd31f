/** Leases at an API server over real connections: a namespace that does not exist, a read that fails, and the end of a process while it hangs. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { KubernetesApi } from '../../../src/catalog/kubernetes/api.ts'
import { connectKubernetes } from '../../../src/catalog/kubernetes/client.ts'
import { GatewayObjects } from '../../../src/catalog/kubernetes/gateways/objects.ts'
import { Leader } from '../../../src/catalog/kubernetes/leader.ts'
import { type Log, SILENT } from '../../../src/telemetry/log.ts'
import { startOwnTime } from '../../fixtures/own-time.ts'

const LEASE_PATH = '/apis/coordination.k8s.io/v1/namespaces/toolgate/leases'
const WAIT = { timeout: 20_000, interval: 20 }

/** Holds one Lease, and lists without objects. */
class ApiServer {
  readonly reasons: string[] = []
  readonly requests: string[] = []
  lease: { metadata: { resourceVersion: string }; spec?: object } | undefined
  hasNamespace = true
  /** For reads of the Lease that follow a write. */
  failures = 0
  hangs = false
  /** Between a write and its response. */
  writeDelayMs = 0
  #revision = 0
  #written = false
  readonly #server: Server = createServer((request, response) => void this.#respond(request, response))
  readonly #folder = mkdtempSync(join(tmpdir(), 'toolgate-leases-'))

  async connect(): Promise<KubernetesApi> {
    await new Promise<void>(resolve => this.#server.listen(0, '127.0.0.1', resolve))
    const server = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
    const kubeconfig = join(this.#folder, 'kubeconfig')
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'c', cluster: { server, 'insecure-skip-tls-verify': true } }],
      users: [{ name: 'u', user: { token: 't' } }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    }
    writeFileSync(kubeconfig, JSON.stringify(config))
    return connectKubernetes({ apiGroup: 'toolgate.dev', kubeconfig, log: this.log })
  }

  get log(): Log {
    const note = (fields: object): void => void this.reasons.push((fields as { reason: string }).reason)
    return { ...SILENT, warn: note, error: note }
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '' } = request
    const [path = '', query = ''] = url.split('?')
    const text = (await request.toArray()).join('')
    this.requests.push(`${method} ${path}`)
    if (this.hangs) return
    const reply = (status: number, body: object): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    }
    const refuse = (code: number, message: string): void =>
      reply(code, { apiVersion: 'v1', kind: 'Status', status: 'Failure', code, message })
    // an open watch without events
    if (query.includes('watch=')) return void response.writeHead(200).flushHeaders()
    if (!path.startsWith(LEASE_PATH)) {
      if (method === 'POST') return refuse(404, 'namespaces "tenant-acme" not found')
      return reply(200, {
        apiVersion: 'toolgate.dev/v1alpha1',
        kind: 'List',
        metadata: { resourceVersion: '1' },
        items: [],
      })
    }
    if (method === 'GET') {
      if (this.#written && this.failures > 0) {
        this.failures--
        return refuse(500, 'etcdserver: request timed out')
      }
      return this.lease === undefined ? refuse(404, 'leases "l" not found') : reply(200, this.lease)
    }
    if (!this.hasNamespace) return refuse(404, 'namespaces "toolgate" not found')
    this.#written = true
    const body = JSON.parse(text)
    if (method === 'PUT' && body.metadata.resourceVersion !== this.lease?.metadata.resourceVersion)
      return refuse(409, 'the object has been modified')
    this.lease = { ...body, metadata: { name: 'l', resourceVersion: String(++this.#revision) } }
    await sleep(this.writeDelayMs)
    reply(method === 'POST' ? 201 : 200, this.lease!)
  }
}

let server: ApiServer
beforeEach(() => {
  server = new ApiServer()
})
afterEach(() => server.close())

function leaderOf(api: KubernetesApi, onLeading: () => void, leaseSeconds = 60): Leader {
  const place = { namespace: 'toolgate', name: 'l', identity: 'one' }
  return new Leader({ api, ...place, log: server.log, onLeading, leaseSeconds })
}

it('logs that the namespace of the Lease does not exist, and leads when it does', async () => {
  server.hasNamespace = false
  let led = 0
  const leader = leaderOf(await server.connect(), () => led++, 1)
  await leader.start()
  expect(server.reasons).toEqual([expect.stringContaining('namespaces \\"toolgate\\" not found')])
  expect([leader.leading, led]).toEqual([false, 0])
  server.hasNamespace = true
  await expect.poll(() => led, WAIT).toBeGreaterThan(0)
  await leader.close()
})

it('reports an object that cannot be created because its namespace does not exist', async () => {
  const api = await server.connect()
  await expect(
    api.create('tools', { metadata: { name: 'a', namespace: 'tenant-acme' }, spec: {} }),
  ).rejects.toThrow(/namespaces \\"tenant-acme\\" not found/)
})

it('leads when the Lease cannot be read after it was written', async () => {
  server.failures = 1
  let led = 0
  const leader = leaderOf(await server.connect(), () => led++)
  await leader.start()
  expect(server.reasons).toEqual([expect.stringContaining('etcdserver: request timed out')])
  expect([led, leader.leading]).toEqual([1, true])
  await leader.close()
})

it('releases the Lease also when it ends within a renewal', async () => {
  let led = 0
  const leader = leaderOf(await server.connect(), () => led++, 3)
  await leader.start()
  expect(server.lease).toMatchObject({ spec: { holderIdentity: 'one' } })
  server.writeDelayMs = 300
  const written = server.lease!.metadata.resourceVersion
  await expect.poll(() => server.lease!.metadata.resourceVersion, WAIT).not.toBe(written)
  await leader.close()
  expect(server.lease).toMatchObject({ spec: { holderIdentity: '' } })
  expect([led, leader.leading]).toEqual([1, false])
})

it('ends within seconds while the API server hangs', async () => {
  const api = await server.connect()
  const never = () => Promise.reject(new Error('not used'))
  const objects = new GatewayObjects({
    api,
    apiGroup: 'toolgate.dev',
    access: { apply: never, gateways: async () => [], apiId: never, deployment: never },
    log: server.log,
    leaseNamespace: 'toolgate',
    identity: 'one',
  })
  await objects.start()
  expect(server.lease).toMatchObject({ spec: { holderIdentity: 'one' } })
  server.hangs = true
  server.requests.length = 0
  const elapsedMs = startOwnTime()
  await objects.close()
  expect(server.requests.filter(line => line.startsWith('PUT'))).toHaveLength(1)
  // a request has ten seconds otherwise
  expect(elapsedMs()).toBeLessThan(9_000)
}, 60_000)
