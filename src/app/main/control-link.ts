/** Connects the gateway of this process to a control plane, in process or over HTTP. `src/data-plane/follower` follows it. */
import { join } from 'node:path'
import { hostOf } from '../../base/bare-host.ts'
import { VERSION } from '../../base/version.ts'
import type { ControlPlane } from '../../control-plane/api/control-plane.ts'
import { replyTo } from '../../data-plane/calls/fleet-reply.ts'
import { ProcessCalls } from '../../data-plane/calls/process-calls.ts'
import { Follower, type FollowerOptions } from '../../data-plane/follower/follower.ts'
import { HttpTransport } from '../../data-plane/follower/http-transport.ts'
import { Reporter } from '../../data-plane/follower/reporter.ts'
import { ClientCredentials } from '../../identity/client-credentials.ts'
import { type GatewayState, type Hello, mayBeConsumer } from '../../link/report.ts'
import { createEgress } from '../../net/egress/client.ts'
import type { Egress } from '../../net/egress/egress.ts'
import type { ClientTls } from '../../net/tls/client-tls.ts'
import type { Settings } from '../settings.ts'
import { reachOf } from './app-context.ts'
import type { Gateway } from './gateway.ts'
import { watchClock } from './watch-clock.ts'

/** A configuration that could not be served may be valid after a change of the tools. */
const RETRY_REFUSED = { firstMs: 5_000, maxMs: 300_000 }

/** A control plane in the same process: nothing is kept on disk, because both stop together. */
export function followInProcess(gateway: Gateway, { transport }: ControlPlane): Promise<void> {
  return follow(gateway, { transport, dataDir: undefined })
}

/** A control plane in another process. @throws Error of the file system */
export function followOverHttp(gateway: Gateway, at: NonNullable<Settings['controlPlane']>): Promise<void> {
  const { context, issuer } = gateway
  const { settings, closers } = context
  // the operator configured both addresses: they may be private
  const open = (url: string, tls?: ClientTls): Egress => {
    const { allow, allowLoopback } = reachOf(settings)
    const egress = createEgress({ allow: [...allow, hostOf(url)], allowLoopback, tls })
    closers.add(`connections to ${hostOf(url)}`, () => egress.close())
    return egress
  }
  const egress = open(at.url, at.tls)
  const credentials = new ClientCredentials({
    egress: open(issuer),
    at: { issuer },
    clientId: at.clientId,
    clientSecret: at.clientSecret,
    names: 'GATEWAY_CLIENT_ID and GATEWAY_CLIENT_SECRET',
    now: Date.now,
  })
  const onClock = watchClock(context, 'control plane')
  const transport = new HttpTransport({ egress, credentials, url: at.url, onClock })
  return follow(gateway, { transport, dataDir: settings.dataDir })
}

async function follow(
  gateway: Gateway,
  options: Pick<FollowerOptions, 'transport' | 'dataDir'>,
): Promise<void> {
  const { configuration } = gateway
  const { log, closers, conditions, metrics, reportDamage } = gateway.context
  const hello = helloOf(gateway)
  let damages = 0
  metrics.read('platform_snapshot_file_damaged_total', () => damages)
  const calls = new ProcessCalls(gateway.plane.everyThread)
  const follower = new Follower({
    ...options,
    reporter: new Reporter({
      transport: options.transport,
      bookPath: options.dataDir && join(options.dataDir, 'control-report.ndjson'),
      onDamage: reportDamage,
      adminActions: gateway.adminActions,
      workers: hello.workers,
      takeState: () => takeState(gateway),
      log,
    }),
    hello,
    configuration,
    retryRefused: RETRY_REFUSED,
    replyTo: question => replyTo(question, calls),
    onFault: fault => conditions.set('control plane', fault),
    onDamage(damage) {
      if (damage !== undefined) damages++
      conditions.set('saved snapshot', damage)
    },
    log,
  })
  closers.add('link to the control plane', () => follower.close())
  await follower.start()
}

function helloOf({ context: { settings }, plane, gatewayUrl, issuer }: Gateway): Hello {
  return {
    name: settings.gatewayName,
    url: gatewayUrl,
    version: VERSION,
    workers: plane.workers,
    authConfig: { issuer, audiences: settings.auth.allowedAudiences },
  }
}

/** The data plane counts by tenant name, the control plane by tenant id. */
function takeState({ plane, configuration, definitions }: Gateway): GatewayState {
  const { usage, keysUsed, consumersSeen } = plane.takeUsage()
  const { tenants } = configuration.share
  const ids = new Map([...tenants.values()].map(tenant => [tenant.name, tenant.id]))
  const seen = consumersSeen.flatMap(({ tenant, subject, at }) => {
    const tenantId = ids.get(tenant)
    return tenantId === undefined || !mayBeConsumer(subject) ? [] : [{ tenantId, subject, at }]
  })
  return { status: plane.status(), usage, keysUsed, consumersSeen: seen, definitions: definitions() }
}
