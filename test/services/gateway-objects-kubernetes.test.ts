/** GatewayBinding and GatewayInstance objects of a real API server, applied by `toolgate config follow` to a control plane, with the rights of the chart. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { API_VERSION, eventually } from '../contract/toolsets/source-world.ts'
import { built } from '../fixtures/built.ts'
import { type Deployment, deploy } from '../fixtures/deployment.ts'
import { processEnv } from '../fixtures/process-env.ts'
import { KUBE_INSTALLED, Kube, type KubeManifest } from './kube/kube.ts'

const ROOT = join(import.meta.dirname, '../..')
const HELM = join(ROOT, '.tools/bin/helm')
const required = process.env.REQUIRE_SERVICES === '1'
const isInstalled = KUBE_INSTALLED && existsSync(HELM)
const WAIT_MS = 60_000
const NAMESPACE = 'tenant-acme'

describe.skipIf(!isInstalled && !required)(
  'gateway objects (bring it: scripts/services.sh kubernetes helm)',
  () => {
    const kube = new Kube()
    let deployment: Deployment
    let follower: ReturnType<typeof spawn>
    let token: string

    beforeAll(async () => {
      await Promise.all([
        kube.start(),
        deploy().then(started => {
          deployment = started
        }),
      ])
      token = await deployment.token('demo-admin')
      for (const object of rights()) expect(await kube.apply(object)).toBeUndefined()
      const { api_url, auth_url } = deployment.running.addresses
      follower = spawn(process.execPath, [built('cli/index.js'), 'config', 'follow'], {
        env: {
          ...processEnv(),
          API_URL: api_url,
          AUTH_ISSUER: auth_url,
          POD_NAMESPACE: 'toolgate',
          POD_NAME: 'one',
          TOOLGATE_CLIENT_ID: 'demo-admin',
          TOOLGATE_CLIENT_SECRET: 'demo-admin-secret',
          KUBECONFIG: await kube.kubeconfigOf('edge-toolgate-bindings'),
        },
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      for await (const line of createInterface({ input: follower.stdout! })) if (line.startsWith('{')) break
    }, 240_000)
    afterAll(async () => {
      if (follower !== undefined && follower.exitCode === null) {
        follower.kill('SIGTERM')
        await once(follower, 'exit')
      }
      await deployment?.stop()
      await kube.stop()
    })

    /** What the chart grants, in the namespace of the tests. */
    function rights(): KubeManifest[] {
      const args = [
        'template',
        'edge',
        'deploy/helm/toolgate',
        '--kube-version',
        '1.34.1',
        '--namespace',
        'toolgate',
      ]
      const text = execFileSync(HELM, [...args, '--values', 'deploy/helm/values/large.yaml'], {
        cwd: ROOT,
        encoding: 'utf8',
      })
      return parseAllDocuments(text)
        .map(document => (document as { toJS(): KubeManifest | null }).toJS())
        .filter(object => object !== null)
        .filter(
          ({ kind, metadata }) =>
            /^(ServiceAccount|(Cluster)?Role(Binding)?)$/.test(kind) && /bindings/.test(metadata.name),
        )
    }

    const bind = (name: string, spec: object, namespace = NAMESPACE): Promise<string | undefined> =>
      kube.apply({ apiVersion: API_VERSION, kind: 'GatewayBinding', metadata: { name, namespace }, spec })

    function statusOf(kind: string, name: string, wanted: object, namespace = NAMESPACE): Promise<unknown> {
      return eventually(
        async () => {
          const status = (await kube.get(kind, name, namespace))?.status
          expect(status).toMatchObject(wanted)
          return status ?? false
        },
        `the status of ${kind} ${name}`,
        WAIT_MS,
      )
    }

    async function apis(): Promise<readonly { readonly path: string; readonly description: string }[]> {
      const { api_url } = deployment.running.addresses
      const response = await fetch(`${api_url}/v1/tenants/acme/apis?limit=100`, {
        headers: { authorization: `Bearer ${token}` },
      })
      return ((await response.json()) as { items: [] }).items
    }

    const orders = { name: 'Orders', version: '1', upstream_url: 'https://orders.example' }

    it('applies a binding, changes it and deletes its API with it', async () => {
      expect(await bind('orders', { path: '/k8s-orders', api: orders })).toBeUndefined()
      await statusOf('GatewayBinding', 'orders', {
        phase: 'Ready',
        observedGeneration: 1,
        apiId: expect.any(String),
      })
      expect((await apis()).map(({ path }) => path)).toContain('/k8s-orders')
      await bind('orders', { path: '/k8s-orders', api: { ...orders, description: 'changed' } })
      await statusOf('GatewayBinding', 'orders', { phase: 'Ready', observedGeneration: 2 })
      expect((await apis()).find(({ path }) => path === '/k8s-orders')?.description).toBe('changed')
      await kube.remove('GatewayBinding', 'orders', NAMESPACE)
      const isGone = async () => (await kube.get('GatewayBinding', 'orders', NAMESPACE)) === undefined
      await eventually(isGone, 'the deletion', WAIT_MS)
      expect((await apis()).map(({ path }) => path)).not.toContain('/k8s-orders')
    }, 240_000)

    it('writes the reason of a refusal into the status, and recovers', async () => {
      expect(
        await bind('wrong', { path: '/k8s-wrong', api: { ...orders, upstream_url: 'no address' } }),
      ).toBeUndefined()
      await statusOf('GatewayBinding', 'wrong', {
        phase: 'Error',
        lastError: expect.stringMatching(/upstream_url/),
        conditions: [{ type: 'Ready', status: 'False', reason: 'NotApplied' }],
      })
      await bind('wrong', { path: '/k8s-wrong', api: orders })
      await statusOf('GatewayBinding', 'wrong', { phase: 'Ready' })
      // another object cannot take the API over
      await bind('thief', { path: '/k8s-wrong', api: { ...orders, description: 'mine' } })
      await statusOf('GatewayBinding', 'thief', {
        phase: 'Error',
        lastError: expect.stringMatching(/other owners/),
      })
    }, 240_000)

    it('binds only APIs of the tenant of the namespace', async () => {
      expect(await bind('all', { path: '/k8s-all', api: orders }, 'platform')).toBeUndefined()
      await statusOf(
        'GatewayBinding',
        'all',
        { phase: 'Error', lastError: expect.stringMatching(/tenant-\{name\}/) },
        'platform',
      )
      expect(await bind('bad', { path: 'orders', api: orders })).toMatch(/spec\.path/)
    }, 240_000)

    it('shows the state of gateways, and of an API at a gateway', async () => {
      const instance = (name: string, spec: object) =>
        kube.apply({
          apiVersion: API_VERSION,
          kind: 'GatewayInstance',
          metadata: { name, namespace: 'platform' },
          spec,
        })
      expect(await instance('main', { gatewayName: 'gateway', url: deployment.url })).toBeUndefined()
      expect(await instance('missing', {})).toBeUndefined()
      await statusOf(
        'GatewayInstance',
        'main',
        { phase: 'Online', url: deployment.url, snapshotVersion: expect.any(String) },
        'platform',
      )
      await statusOf(
        'GatewayInstance',
        'missing',
        { phase: 'Absent', conditions: [{ status: 'False' }] },
        'platform',
      )
      await bind('served', { path: '/k8s-served', api: orders, gatewayRef: { name: 'main' } })
      await statusOf('GatewayBinding', 'served', { phase: 'Ready', syncStatus: 'synced' })
      await bind('nowhere', { path: '/k8s-nowhere', api: orders, gatewayRef: { name: 'missing' } })
      await statusOf('GatewayBinding', 'nowhere', {
        phase: 'Error',
        lastError: expect.stringMatching(/has not connected/),
      })
    }, 240_000)

    it('ends with 0 at SIGTERM and releases its Lease, so that another instance can lead at once', async () => {
      const holder = async () =>
        (await kube.get('Lease', 'toolgate-bindings', 'toolgate', 'coordination.k8s.io/v1'))?.spec
      expect(await holder()).toMatchObject({ holderIdentity: 'one' })
      const ended = once(follower, 'exit')
      follower.kill('SIGTERM')
      expect(await ended).toEqual([0, null])
      expect((await holder()) as { holderIdentity?: string }).not.toHaveProperty('holderIdentity', 'one')
    }, 60_000)
  },
)
