/** The context that the parts of a deployment share, such as settings, log and outgoing clients, and how they open listeners. */

import type { OnDamage } from '../../base/fs/damage.ts'
import { createEgress } from '../../net/egress/client.ts'
import type { Egress } from '../../net/egress/egress.ts'
import { httpOnly } from '../../net/egress/http-only.ts'
import { allowHosts, onlyHosts } from '../../net/server/allowed-hosts.ts'
import { createListener, isStrictParser } from '../../net/server/create.ts'
import { DEFAULT_LISTENER_LIMITS, type HttpHandler, type Listener } from '../../net/server/listener.ts'
import type { ServerTls } from '../../net/tls/server-tls.ts'
import type { Closers } from '../../telemetry/closers.ts'
import type { Log } from '../../telemetry/log.ts'
import { Metrics } from '../../telemetry/metrics.ts'
import type { Settings } from '../settings.ts'
import { Conditions } from './conditions.ts'
import {
  limitHeapGrowth,
  lowerBackgroundPriority,
  raiseInliningLimits,
  releaseStartMemory,
} from './release-start-memory.ts'
import { createDamageReport } from './report-damage.ts'
import { catchUnexpectedErrors, type ReportUnexpected } from './unexpected.ts'

export const MAX_REQUEST_BODY_BYTES = 1024 * 1024
/** For a whole configuration with its OpenAPI documents. */
export const MAX_CONFIGURATION_BYTES = 16 * 1024 * 1024

export interface AppContext {
  readonly settings: Settings
  readonly log: Log
  readonly closers: Closers
  readonly clock: Clock
  readonly metrics: Metrics
  /** For identity providers, token endpoints and policies; it reaches no Unix socket. */
  readonly egress: Egress
  /** For upstreams (backends of tools, proxied APIs and MCP servers) and for the documents of tool sets. */
  readonly upstreamEgress: Egress
  readonly conditions: Conditions
  readonly reportDamage: OnDamage
  /** undefined: errors that no code expected are left to the program around this one, such as a test. */
  readonly reportUnexpected: ReportUnexpected | undefined
}

export interface Where {
  readonly host: string
  /** 0 takes a free one. */
  readonly port: number
  readonly tls?: ServerTls | undefined
  /** True: other threads of this process listen on the same port. */
  readonly sharePort?: boolean
}

export interface OpenListener {
  readonly listener: Listener
  readonly port: number
  /** Until then requests get 503. */
  handle(handler: HttpHandler): void
  /** Opens the port, if it is not open yet. @throws Error naming the setting when the port is taken */
  listen(): Promise<void>
}

/** Names under which every listener serves besides localhost: public addresses, names it is bound to, and `ALLOWED_HOSTS`. */
export function servedNames({ gateway, api, pages, metrics, allowedHosts }: Settings): readonly string[] {
  const urls = [gateway.url, api.url, pages.url].filter(url => url !== undefined)
  return [
    ...urls.map(url => new URL(url).hostname),
    ...[gateway.host, api.host, metrics.host].filter(host => host !== undefined),
    ...allowedHosts,
  ]
}

/** The addresses that outgoing calls may reach. */
export function reachOf({ egressAllow, nodeEnv }: Settings) {
  return { allow: egressAllow, allowLoopback: nodeEnv !== 'production' }
}

/** @param ownsThread nothing else runs in this thread: errors that no code expected are caught */
export function createContext(
  settings: Settings,
  log: Log,
  closers: Closers,
  ownsThread: boolean,
): AppContext {
  const metrics = new Metrics(settings.metrics.maxConsumers)
  const upstreamEgress = createEgress({
    ...reachOf(settings),
    unixSockets: true,
    ownHttp1: settings.fastPath,
    maxWaitMs: settings.upstreamQueueMs,
    isAdaptive: settings.upstreamConcurrency === 'adaptive',
  })
  closers.add('egress', () => upstreamEgress.close())
  if (ownsThread) closers.add('timer that releases startup memory', releaseStartMemory())
  if (ownsThread && settings.role === 'control-plane') limitHeapGrowth()
  else if (ownsThread) {
    raiseInliningLimits()
    lowerBackgroundPriority()
  }
  const conditions = new Conditions()
  metrics.observeDegraded(() => conditions.states)
  return {
    settings,
    log,
    closers,
    clock: new Clock(),
    metrics,
    egress: httpOnly(upstreamEgress),
    upstreamEgress,
    conditions,
    reportDamage: createDamageReport(log, conditions),
    reportUnexpected: ownsThread ? catchUnexpectedErrors(settings, metrics) : undefined,
  }
}

/** Default of a public address: how the machine itself reaches a listener on loopback or on all addresses. */
export function localUrl({ tls }: Pick<Where, 'tls'>, port: number): string {
  return `${tls === undefined ? 'http' : 'https'}://localhost:${port}`
}

/** A listener with an open port. */
export async function openListener(context: AppContext, where: Where): Promise<OpenListener> {
  const server = await prepareListener(context, where)
  await server.listen()
  return server
}

/** A listener that opens its port on request; port 0 is opened at once, because only an open listener knows its address. */
export async function prepareListener(context: AppContext, where: Where): Promise<OpenListener> {
  const { settings, log, metrics, closers, conditions, reportUnexpected } = context
  let handler: HttpHandler = (_, response) => response.send(503, ['retry-after', '1'])
  const listener = createListener(settings.httpServer, {
    host: where.host,
    port: where.port,
    handler: onlyHosts(
      allowHosts(servedNames(settings)),
      (request, response) => handler(request, response),
      () => metrics.connectionRefused('foreign_host'),
    ),
    limits: { ...DEFAULT_LISTENER_LIMITS, responseTimeoutMs: settings.responseTimeoutMs },
    allowChunkedRequests: settings.allowChunkedRequests ?? isStrictParser(settings.httpServer),
    sharePort: where.sharePort ?? false,
    tls: where.tls,
    onCertificate(fault) {
      const reason = fault && `the renewed certificate for port ${where.port} cannot be used: ${fault}`
      conditions.set(`certificate of port ${where.port}`, reason)
      if (reason === undefined) log.info({ port: where.port }, 'a renewed certificate is in use')
      else
        log.error(
          { port: where.port, reason },
          'the renewed certificate cannot be used, so the previous certificate stays in use. Correct the certificate file or the key file',
        )
    },
    onRefused: reason => metrics.connectionRefused(reason),
    ...(reportUnexpected === undefined
      ? {}
      : { onHandlerError: (error: unknown) => reportUnexpected('handler', error) }),
  })
  let opening: Promise<{ readonly port: number }> | undefined
  const open = (): Promise<{ readonly port: number }> => {
    opening ??= listener.listen()
    return opening
  }
  closers.add(`listener on port ${where.port}`, () => listener.close())
  const port = where.port === 0 ? (await open()).port : where.port
  return {
    listener,
    port,
    handle(next) {
      handler = next
    },
    async listen() {
      await open()
    },
  }
}

class Clock {
  #offsetMs = 0
  readonly #listeners: ((ms: number) => void)[] = []

  /** @param baseMs of another clock; default: of this process. @returns Unix ms */
  readonly now = (baseMs = Date.now()): number => baseMs + this.#offsetMs

  readonly advance = (ms: number): void => {
    this.#offsetMs += ms
    for (const listener of this.#listeners) listener(ms)
  }

  /** For parts with a separate clock. */
  onAdvance(listener: (ms: number) => void): void {
    this.#listeners.push(listener)
  }
}
