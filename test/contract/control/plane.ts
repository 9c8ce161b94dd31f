/** A control plane for tests: a real store, the shipped policy in its real engine, callers by made-up tokens. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSealer } from '../../../src/base/secrets/sealer.ts'
import {
  type ControlPlane,
  type ControlPlaneOptions,
  createControlPlane,
} from '../../../src/control-plane/api/control-plane.ts'
import { openStore } from '../../../src/control-plane/store/open-store.ts'
import type { MailOptions } from '../../../src/control-plane/store/opened-store.ts'
import type { Store } from '../../../src/control-plane/store/store.ts'
import type { TableRows } from '../../../src/control-plane/store/transfer.ts'
import type { TokenVerifier } from '../../../src/identity/verifier.ts'
import { type Principal, principal } from '../../../src/model/principal.ts'
import { refuse } from '../../../src/model/refusal.ts'
import { createOpaWasmEngine } from '../../../src/policy/opa-wasm/engine.ts'
import { IS_LONG_CHECK } from '../../fixtures/check.ts'
import { copyTemplate } from '../store/pglite-template.ts'
import { type Cluster, POSTGRES_HINT, startCluster, WITHOUT_POSTGRES } from '../store/postgres-cluster.ts'
import { FIXED_WORKSHOP } from './fixed-workshop.ts'

/** Name of a caller → roles, tenant and scopes; the name is the token. */
export const CALLERS = {
  platform: { roles: ['cpi-admin'], tenant: undefined, scopes: [] },
  admin: { roles: ['tenant-admin'], tenant: 'acme', scopes: [] },
  devops: { roles: ['devops'], tenant: 'acme', scopes: [] },
  viewer: { roles: ['viewer'], tenant: 'acme', scopes: [] },
  /** A program with scopes and without a role. */
  app: { roles: [], tenant: 'acme', scopes: ['read', 'write'] },
  subscriber: { roles: ['subscriber'], tenant: 'acme', scopes: [] },
  /** A subscriber whose token carries the scopes of the portal it uses, and a role that the policy does not know. */
  portal: {
    roles: ['subscriber', 'offline_access'],
    tenant: 'acme',
    scopes: ['read', 'write', 'execute', 'audit', 'deploy'],
  },
  auditor: { roles: [], tenant: 'acme', scopes: ['audit'] },
  unprivileged: { roles: [], tenant: 'acme', scopes: [] },
  stranger: { roles: ['tenant-admin'], tenant: 'globex', scopes: [] },
  gateway: { roles: [], tenant: undefined, scopes: ['deploy'] },
  /** The scope of tenants on a token of one tenant, and on a token without tenant. */
  scoped: { roles: [], tenant: 'acme', scopes: ['admin'] },
  operator: { roles: [], tenant: undefined, scopes: ['admin'] },
  /** For a tenant on the free tier. */
  metered: { roles: ['viewer'], tenant: 'metered', scopes: [] },
} as const
export type Caller = keyof typeof CALLERS
/** A caller with the same roles and scopes, of the tenant globex. */
export type ForeignCaller = `globex:${Caller}`

export interface Plane {
  readonly control: ControlPlane
  readonly options: ControlPlaneOptions
  readonly store: Store
  /** Rows of every table, as they are in the database. */
  rows(): Promise<readonly TableRows[]>
  readonly clock: { nowMs: number }
  readonly faults: unknown[]
  /** Gone after `close`. */
  readonly dataDir: string
  call(
    caller: Caller | ForeignCaller | null,
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Reply>
  close(): Promise<void>
}

export interface Reply {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what the tests are about
  readonly body: any
}

const verifier: TokenVerifier = {
  ready: true,
  verify(token) {
    const [tenant, name] = token.startsWith('globex:') ? ['globex', token.slice(7)] : [undefined, token]
    const caller = CALLERS[name as Caller]
    if (token === 'expired') return refuse('token_expired')
    return caller === undefined
      ? refuse('token_signature')
      : principalOf(name, { ...caller, tenant: tenant ?? caller.tenant })
  },
  clearCache: () => 0,
  close() {},
}

function principalOf(name: string, caller: Pick<Principal, 'tenant' | 'roles' | 'scopes'>): Principal {
  return principal({
    kind: 'token',
    subject: `user-${name}`,
    consumer: name,
    tenant: caller.tenant,
    roles: caller.roles,
    scopes: caller.scopes,
    subscriptionId: undefined,
    expiresAtMs: Number.MAX_SAFE_INTEGER,
  })
}

export interface PlaneOptions {
  /** undefined: PGlite in a new directory. */
  readonly cluster?: Cluster | undefined
  readonly options?: Partial<ControlPlaneOptions>
  readonly mail?: MailOptions
}

let databases = 0

export async function openPlane({ cluster, options, mail }: PlaneOptions = {}): Promise<Plane> {
  const dataDir = mkdtempSync(join(tmpdir(), 'toolgate-control-'))
  const clock = { nowMs: Date.parse('2026-03-01T10:20:00Z') }
  const faults: unknown[] = []
  const shared = {
    now: () => clock.nowMs,
    onFault: (message: string, error: unknown) => faults.push([message, error]),
  }
  const url =
    cluster === undefined ? 'pglite:' : await cluster.database(`control_${process.pid}_${databases++}`)
  if (cluster === undefined) await copyTemplate(join(dataDir, 'postgres'))
  const { store, migrator, transfer } = await openStore({
    ...shared,
    url,
    dataDir,
    sealer: createSealer('a key of the tests'),
    mail,
  })
  await migrator.migrate()
  const policy = await createOpaWasmEngine().prepare(readFileSync('policies/bundle.tar.gz'))
  const whole: ControlPlaneOptions = {
    ...shared,
    store,
    verifier,
    policy: () => policy,
    workshop: FIXED_WORKSHOP,
    gatewayUrl: 'https://gw.example',
    apiUrl: 'https://api.example',
    version: '0.1.0',
    maxBodyBytes: 1024 * 1024,
    // Tests say themselves when time has passed.
    sweepIntervalMs: 3_600_000,
    ...options,
  }
  const control = createControlPlane(whole)
  return {
    control,
    options: whole,
    store,
    async rows() {
      const parts: TableRows[] = []
      await transfer.read(async part => void parts.push(part))
      return parts
    },
    clock,
    faults,
    dataDir,
    async call(caller, method, path, body, headers = {}) {
      const request = new Request(`https://api.example${path}`, {
        method,
        headers: {
          ...(caller === null ? {} : { authorization: `Bearer ${caller}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      })
      const response = await control.fetch(request)
      const text = await response.text()
      const json = /^application\/(?!x-ndjson)[\w.+-]*json/.test(response.headers.get('content-type') ?? '')
      return {
        status: response.status,
        headers: response.headers,
        body: json && text !== '' ? JSON.parse(text) : text,
      }
    },
    async close() {
      await control.close()
      policy.close()
      await store.close()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

const BOTH_DATABASES = [
  { name: 'PGlite', skip: false, start: async () => undefined },
  { name: `PostgreSQL${POSTGRES_HINT}`, skip: WITHOUT_POSTGRES, start: startCluster },
] as const

/** The database of tests about what token, policy and values decide before the store is asked: the last that is there. */
export const ONE_DATABASE = BOTH_DATABASES.findLast(({ skip }) => !skip)!

/** The databases that contract tests run on. `store.test.ts` compares both in each check, and whole deployments of tests use PGlite. */
export const DATABASES = IS_LONG_CHECK ? BOTH_DATABASES : [ONE_DATABASE]

export interface World {
  readonly acme: string
  readonly globex: string
  readonly api: string
  readonly subscription: string
  readonly key: string
  /** The whole key. */
  readonly secret: string
}

/** Two tenants; the first with an API, an approved subscription of `app`, and its key. */
export async function populate(plane: Plane): Promise<World> {
  const made = async (caller: Caller, path: string, body: unknown, status = 201) => {
    const reply = await plane.call(caller, 'POST', path, body)
    if (reply.status !== status) throw new Error(`${path}: ${reply.status} ${JSON.stringify(reply.body)}`)
    return reply.body
  }
  const acme = (await made('platform', '/v1/tenants', { name: 'acme', tier: 'enterprise' })).id
  const globex = (await made('platform', '/v1/tenants', { name: 'globex', tier: 'enterprise' })).id
  const base = `/v1/tenants/${acme}`
  const api = (
    await made('admin', `${base}/apis`, {
      name: 'Orders',
      upstream_url: 'http://127.0.0.1:9/orders',
      path: '/orders',
      portal_visibility: true,
    })
  ).id
  const subscription = (
    await made('app', `${base}/subscriptions`, { api_id: api, plan: 'silver', application: 'app' })
  ).id
  const approved = await made('admin', `${base}/subscriptions/${subscription}/approve`, {}, 200)
  const key = (await plane.call('admin', 'GET', `${base}/apikeys`)).body.items[0].id
  return { acme, globex, api, subscription, key, secret: approved.api_key }
}
