/** The gateway process of a world with all that it needs: identity provider, control plane, backend, one tool set. All of them work; the world breaks one. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type DevProvider, startDevProvider } from '../../src/identity/dev-provider/dev-provider.ts'
import type { TenantShare } from '../../src/link/share-schema.ts'
import { SILENT } from '../../src/telemetry/log.ts'
import { type FakeControlPlane, startFakeControlPlane, wholeUpdate } from '../fixtures/fake-control-plane.ts'
import { freePorts } from '../fixtures/free-ports.ts'
import { ServeProcess } from '../fixtures/planes.ts'
import { signedToken } from '../fixtures/tokens.ts'
import { LARGE } from './large-response.ts'
import type { Called, Seen } from './world.ts'

/** How long the backend takes for `slow`: a call that is in flight when the process is asked to stop. */
const SLOW_MS = 700
const CALL_TIMEOUT_MS = 15_000
/** Longer than all rows of a table, with those of 60 s. */
const TOKEN_LIFETIME = '3h'

export interface Subject {
  readonly root: string
  readonly process: ServeProcess
  readonly url: string
  readonly provider: DevProvider
  /** Calls of `slow` that have reached the backend. */
  readonly slowCalls: () => number
  /** Request ids that the backend has seen. */
  readonly backendSaw: Set<string>
  /** A token of a consumer whose limit no row reaches. */
  readonly token: string
  /** A token of a consumer without limits: its calls need no quota store. */
  readonly unlimitedToken: string
  /** A token of another tenant than that of the others; it sees the shared tools. */
  readonly foreignToken: string
  /** A token of the consumer `limited-<number>`, which may call 60 times a day. */
  limitedToken(number: number): Promise<string>
  /** @param tool `fast`, `slow`, or another one that the options name */
  callTool(tool: string, token?: string, requestId?: string): Promise<Called>
  /** State by `/ready`, `/mcp/health` and the metric `platform_degraded` of a part. */
  see(part: string): Promise<Seen>
  listTools(): Promise<Called>
  metrics(): Promise<string>
  /** A new configuration is available at the control plane. */
  change(): void
  close(): Promise<void>
}

export const DAILY_LIMIT = 60
/** An API without authentication, whose upstream is the backend. */
export const PROXIED_PATH = '/t/edge/api/fast'

interface SubjectOptions {
  readonly env?: Record<string, string>
  /** Tools that all tenants see. */
  readonly sharedTools?: readonly string[]
  /** As that of `ServeProcess`. */
  readonly launcher?: readonly string[]
  /** Origin under which the gateway finds the provider, for a proxy in between. @param port of the provider */
  readonly providerUrl?: (port: number) => Promise<string>
  /** Address under which the gateway finds a server that listens at `url`. */
  readonly backendUrl?: (url: string) => Promise<string>
  readonly controlPlaneUrl?: (url: string) => Promise<string>
  /** Name of the tool set. */
  readonly toolSet?: string
  /** Besides `fast` and `slow`; as fast as the first. */
  readonly tools?: readonly string[]
  /** Name of the consumer without limits. */
  readonly unlimitedConsumer?: string
}

export async function prepareSubject(options: SubjectOptions = {}): Promise<Subject> {
  const root = mkdtempSync(join(tmpdir(), 'toolgate-faults-'))
  const [providerPort, gatewayPort, metricsPort] = (await freePorts(3)) as [number, number, number]
  const publicUrl = await options.providerUrl?.(providerPort)
  const provider = await startDevProvider({
    host: '127.0.0.1',
    port: providerPort,
    ...(publicUrl === undefined ? {} : { publicUrl }),
    dataDir: join(root, 'dev-provider'),
    log: SILENT,
  })
  const controlPlane: FakeControlPlane = await startFakeControlPlane()
  const backendSaw = new Set<string>()
  let slowCalls = 0
  const backend = createServer(async (request, response) => {
    const id = request.headers['x-request-id']
    if (typeof id === 'string') backendSaw.add(id)
    if (request.url!.startsWith('/slow')) {
      slowCalls++
      await sleep(SLOW_MS)
    }
    response.setHeader('content-type', 'application/json')
    if (request.url!.startsWith('/huge')) for (let times = 0; times < 3; times++) response.write(LARGE)
    response.end(request.url!.startsWith('/large') ? LARGE : '{"ok":true}')
  })
  await new Promise<void>(resolve => backend.listen(0, '127.0.0.1', resolve))
  const backendUrl = `http://127.0.0.1:${(backend.address() as AddressInfo).port}`
  const reachedBackendUrl = (await options.backendUrl?.(backendUrl)) ?? backendUrl
  mkdirSync(join(root, 'toolsets'))
  const {
    toolSet: name = 'faults',
    tools = [],
    sharedTools = [],
    unlimitedConsumer = 'demo-viewer',
  } = options
  const named = (ids: readonly string[]): readonly Operation[] => ids.map(id => ({ id }))
  writeToolSet(
    root,
    reachedBackendUrl,
    'faults.yaml',
    { name, namespace: 'tenant-acme' },
    named(['fast', 'slow', ...tools]),
  )
  if (sharedTools.length > 0)
    writeToolSet(
      root,
      reachedBackendUrl,
      'shared.yaml',
      { name: 'shared', namespace: 'platform' },
      named(sharedTools),
      // large responses take longer than 2 s on a busy machine
      '12s',
    )
  let changes = 0
  const change = (): void =>
    controlPlane.serve('stream', wholeUpdate([tenantShare(reachedBackendUrl, changes++)]))
  change()
  const limited = Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`limited-${at}`, 'limited']))
  const plans = {
    plans: {
      limited: { name: 'Limited', perDay: DAILY_LIMIT },
      free: { name: 'Free', perMinute: 1_000_000 },
      unlimited: { name: 'Unlimited' },
    },
    consumers: { ...limited, 'demo-agent': 'free', [unlimitedConsumer]: 'unlimited' },
  }
  writeFileSync(join(root, 'plans.yaml'), JSON.stringify(plans))
  const url = `http://127.0.0.1:${gatewayPort}`
  const env = {
    WORKERS: '1',
    LOG_LEVEL: 'silent',
    AUTH_ISSUER: provider.issuer,
    ...(options.env?.ROLE === 'all'
      ? { API_PORT: '0' }
      : {
          ROLE: 'gateway',
          CONTROL_PLANE_URL: (await options.controlPlaneUrl?.(controlPlane.url)) ?? controlPlane.url,
          GATEWAY_CLIENT_ID: 'gateway',
          GATEWAY_CLIENT_SECRET: 'gateway-secret',
        }),
    GATEWAY_PORT: String(gatewayPort),
    GATEWAY_URL: url,
    METRICS_PORT: String(metricsPort),
    EXAMPLE: 'false',
    TOOLSETS: join(root, 'toolsets'),
    PLANS: join(root, 'plans.yaml'),
    DATA_DIR: join(root, 'data'),
    DRAIN_TIMEOUT: '5s',
    SSE_LIMITER_ENABLED: 'false',
    ...options.env,
  }
  const process = new ServeProcess(env, undefined, undefined, options.launcher)
  // a proxy in front of the provider may refuse by the time a token is needed
  const tokenOf = (id: string): Promise<string> =>
    signedToken(root, provider.issuer, { id, tenant: 'acme' }, TOKEN_LIFETIME)
  const token = await tokenOf('demo-agent')
  const unlimitedToken = await tokenOf(unlimitedConsumer)
  const foreign = { id: unlimitedConsumer, tenant: 'beta' }
  const foreignToken = await signedToken(root, provider.issuer, foreign, TOKEN_LIFETIME)
  const metrics = async (): Promise<string> => (await fetchIn(`http://127.0.0.1:${metricsPort}/metrics`)).text
  return {
    root,
    process,
    url,
    provider,
    slowCalls: () => slowCalls,
    backendSaw,
    token,
    unlimitedToken,
    foreignToken,
    limitedToken: number => tokenOf(`limited-${number}`),
    callTool: (tool, bearer = token, requestId) =>
      fetchIn(`${url}/mcp/tools/call`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          authorization: `Bearer ${bearer}`,
          ...(requestId === undefined ? {} : { 'x-request-id': requestId }),
        },
        body: JSON.stringify({ name: tool, arguments: {} }),
      }),
    async see(part) {
      const [ready, health, text] = await Promise.all([
        fetchIn(`${url}/ready`),
        fetchIn(`${url}/mcp/health`),
        metrics(),
      ])
      return {
        ready: ready.status,
        isDegraded: !health.text.includes('"status":"healthy"'),
        isCounted: text.includes(`platform_degraded{part="${part}"} 1`),
        text: `${ready.text} ${health.text} ${/^platform_degraded.*$/gm.exec(text)?.join(' ')}`,
      }
    },
    listTools: () =>
      fetchIn(`${url}/mcp/v1/tools`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: '{}',
      }),
    metrics,
    change,
    async close() {
      await process.end('SIGTERM')
      await provider.close()
      await controlPlane.close()
      backend.closeAllConnections()
      backend.close()
      rmSync(root, { recursive: true, force: true })
    },
  }
}

/** A request with its time. Never rejects. */
export async function fetchIn(url: string, init: RequestInit = {}): Promise<Called> {
  const from = performance.now()
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(CALL_TIMEOUT_MS), ...init })
    const text = await response.text()
    const retryAfter = response.headers.get('retry-after')
    const retryAfterSecs = retryAfter === null ? undefined : Number(retryAfter)
    return { status: response.status, retryAfterSecs, text, tookMs: performance.now() - from }
  } catch (error) {
    const text = `${(error as Error).message}: ${(error as Error).cause ?? ''}`
    return { status: 0, retryAfterSecs: undefined, text, tookMs: performance.now() - from }
  }
}

/** @param revision makes each one differ from the one before */
function tenantShare(upstreamUrl: string, revision: number): TenantShare {
  const api = { authRequired: false, requestsPerHour: null, upstreamUrl }
  return {
    id: 'ten_01hzxg4x4c0123456789abcdef',
    name: 'edge',
    suspended: false,
    plans: [],
    apis: [
      { id: 'api_01hzxg4x4c0123456789abcdef', path: '/api', ...api },
      { id: 'api_01hzxg4x4c0123456789abcdee', path: `/revision-${revision}`, ...api },
    ],
    subscriptions: [],
    keys: [],
    consumers: [],
    tools: [],
  }
}

export interface Operation {
  readonly id: string
  /** Of the member `text` of its body; without it the operation has no arguments. */
  readonly pattern?: string
}

/** Before the process starts. */
export function writeToolSet(
  root: string,
  baseURL: string,
  file: string,
  metadata: { readonly name: string; readonly namespace: string },
  operations: readonly Operation[],
  timeout = '2s',
): void {
  const operation = ({ id, pattern }: Operation) => {
    const described = { operationId: id, summary: id, responses: { 200: { description: 'done' } } }
    if (pattern === undefined) return { get: described }
    const schema = { type: 'object', required: ['text'], properties: { text: { type: 'string', pattern } } }
    return { post: { ...described, requestBody: { content: { 'application/json': { schema } } } } }
  }
  const document = {
    openapi: '3.0.3',
    info: { title: 'Faults', version: '1' },
    paths: Object.fromEntries(operations.map(one => [`/${one.id}`, operation(one)])),
  }
  const toolSet = {
    apiVersion: 'toolgate.dev/v1alpha1',
    kind: 'ToolSet',
    metadata,
    spec: {
      displayName: 'Faults',
      openAPISpec: { inline: JSON.stringify(document) },
      baseURL,
      toolDefaults: { timeout, authentication: { type: 'none' } },
      naming: { useOperationId: true },
    },
  }
  writeFileSync(join(root, 'toolsets', file), JSON.stringify(toolSet))
}
