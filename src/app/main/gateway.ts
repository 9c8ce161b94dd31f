/** Opens a gateway in this process, in one thread or in worker threads. `control-link.ts` connects it to a control plane. */
import { join } from 'node:path'
import type { ToolSetCompiler } from '../../catalog/sync/compile-job.ts'
import { AdminActions } from '../../data-plane/follower/admin-actions.ts'
import type { RecordAdminAction } from '../../data-plane/http/admin/admin-audit.ts'
import { readPlans } from '../../data-plane/quota/plans.ts'
import { openSessions } from '../../data-plane/sessions/open-sessions.ts'
import { Configuration } from '../../data-plane/snapshot/gateway-configuration.ts'
import type { ControlShare } from '../../link/control-share.ts'
import { EMPTY_CONTENT } from '../../link/document.ts'
import type { ReportedDefinitions } from '../../link/report.ts'
import { canSharePorts, type ListenerKind } from '../../net/server/create.ts'
import { type AppContext, localUrl, type OpenListener, prepareListener } from './app-context.ts'
import { type DataPlane, startDataPlane } from './data-plane.ts'
import { addressOf } from './local-address.ts'
import { adoptSpool, openMeter, sendEvents } from './metering.ts'
import { openQuota } from './open-quota.ts'
import { NO_PAGES, pagesUrlOf } from './pages.ts'
import { policyOwner } from './policy-served.ts'
import { startTools } from './tools.ts'
import { startWorkerThreads } from './workers/worker-threads.ts'

export interface Gateway {
  readonly context: AppContext
  readonly plane: DataPlane
  readonly httpServer: ListenerKind
  /** Serves nothing until it has both the tools and the share of the control plane. */
  readonly configuration: Configuration
  readonly gatewayUrl: string
  /** Public address of its pages, without trailing slash; undefined: it serves none. */
  readonly pagesUrl: string | undefined
  /** The gateway as this process reaches it. */
  readonly gatewayAddress: string
  readonly adminActions: AdminActions
  /** What it serves of the MCP servers of APIs. */
  readonly definitions: () => readonly ReportedDefinitions[]
  readonly issuer: string
  /** Resolves when the sources of tools have been read, with the address of the example backend, where it was started. */
  readonly tools: Promise<string | undefined>
}

export async function openGateway(
  context: AppContext,
  issuer: string,
  apiUrl: string,
  compiler: ToolSetCompiler | undefined,
): Promise<Gateway> {
  const { settings, log } = context
  adoptSpool(context)
  const adminActions = new AdminActions(join(settings.dataDir, 'admin-actions.ndjson'), context.reportDamage)
  await adminActions.load()
  const content = { ...EMPTY_CONTENT, ...readPlans(settings.plansFile) }
  const open = threadsOf(context) > 1 ? openThreads : openHere
  const { opening, port, httpServer } = await open(context, issuer, apiUrl, action =>
    adminActions.add(action),
  )
  const gatewayUrl = settings.gateway.url ?? localUrl(settings.gateway, port)
  const pagesUrl = pagesUrlOf(settings, port)
  if (pagesUrl === undefined && settings.auth.provider !== 'none')
    log.info({ setting: 'PAGES_URL' }, NO_PAGES)
  let onShare: (share: ControlShare) => void = () => {}
  let definitions: () => readonly ReportedDefinitions[] = () => []
  const configuration = new Configuration({
    content,
    awaited: ['tools', 'control'],
    deliver: async (document, change) => (await opening).apply(document, change),
    onShare: share => onShare(share),
    log,
  })
  const connectTools = async (): Promise<string | undefined> => {
    const started = await startTools(
      context,
      gatewayUrl,
      (tools, views) => void configuration.change({ tools, views }),
      compiler,
    )
    onShare = started.onShare
    definitions = started.definitions
    onShare(configuration.share)
    return started.exampleUrl
  }
  // another thread compiles the tools while this one opens the rest of the gateway
  const tools = connectTools()
  // without a gateway, why there is none matters more
  tools.catch(() => {})
  const plane = await opening
  await sendEvents(context)
  return {
    context,
    plane,
    tools,
    httpServer,
    configuration,
    gatewayUrl,
    pagesUrl,
    gatewayAddress: addressOf(settings.gateway, port),
    adminActions,
    definitions: () => definitions(),
    issuer,
  }
}

interface OpenPlane {
  readonly opening: Promise<DataPlane>
  readonly port: number
  readonly httpServer: ListenerKind
}

/** In this thread. */
async function openHere(
  context: AppContext,
  issuer: string,
  apiUrl: string,
  recordAction: RecordAdminAction,
): Promise<OpenPlane> {
  const { settings } = context
  const server = await prepareListener(context, settings.gateway)
  const opening = openPlane(context, server, issuer, apiUrl, recordAction)
  return { opening, port: server.port, httpServer: server.listener.kind }
}

async function openPlane(
  context: AppContext,
  server: OpenListener,
  issuer: string,
  apiUrl: string,
  recordAction: RecordAdminAction,
): Promise<DataPlane> {
  const { settings, log, clock } = context
  const gatewayUrl = settings.gateway.url ?? localUrl(settings.gateway, server.port)
  const { quota } = await openQuota(context)
  const sessions = await openSessions({
    ...settings,
    ...settings.sessions,
    log,
    onDamage: context.reportDamage,
    now: clock.now,
  })
  const meter = openMeter(context)
  return startDataPlane({
    context,
    server,
    gatewayUrl,
    apiUrl,
    issuer,
    quota,
    meter,
    sessions,
    recordAction,
  })
}

/** In worker threads; the main thread keeps everything else. */
async function openThreads(
  context: AppContext,
  issuer: string,
  apiUrl: string,
  recordAction: RecordAdminAction,
): Promise<OpenPlane> {
  const count = threadsOf(context)
  const quota = await openQuota(context, count)
  const policy = context.settings.policy.engine === 'opa-http' ? undefined : await policyOwner(context)
  const threads = await startWorkerThreads({ context, issuer, apiUrl, quota, policy, count, recordAction })
  return { opening: Promise.resolve(threads), port: threads.port, httpServer: threads.httpServer }
}

/** One, where the listener cannot share its port between threads. */
function threadsOf({ settings, log }: AppContext): number {
  if (
    settings.workers > 1 &&
    !canSharePorts(settings.gateway.tls === undefined ? settings.httpServer : 'node')
  ) {
    const isUwsUsable = settings.gateway.tls === undefined && canSharePorts('auto')
    const fix = isUwsUsable
      ? 'Set HTTP_SERVER=auto, or use Node 22.12 or newer on Linux'
      : 'Use Node 22.12 or newer on Linux, or set WORKERS=1'
    log.warn(
      { workers: settings.workers },
      `the HTTP server cannot share its port between threads, so one thread serves all calls. ${fix}`,
    )
    return 1
  }
  return settings.workers
}
