/** Joins the gateway of this process with a control plane: snapshots in, what was counted out. It moves; it decides nothing. */
import { join } from 'node:path'
import type { ControlPlane } from '../../control-plane/api/control-plane.ts'
import { ClientCredentials } from '../../data-plane/follower/credentials.ts'
import { RemoteGateway } from '../../data-plane/follower/follower.ts'
import { ControlPlaneClient } from '../../data-plane/follower/http-transport.ts'
import { Reporter } from '../../data-plane/follower/reporter.ts'
import type { GatewayState } from '../../link/report.ts'
import { createEgress } from '../../shared/egress/client.ts'
import { VERSION } from '../../shared/version.ts'
import type { Settings } from '../settings.ts'
import type { Gateway } from './gateway.ts'

/** Without a kept snapshot, the ready line waits this long for the control plane; `/ready` says 503 for as long as it takes. */
const FIRST_SNAPSHOT_MS = 10_000

/** The gateway of the control plane's own process. */
export async function attachGateway(controlPlane: ControlPlane, gateway: Gateway): Promise<void> {
  const { configuration } = gateway
  await controlPlane.attach({
    ...helloOf(gateway),
    apply: control => configuration.change({ control }),
    news: () => stateOf(gateway),
  })
}

/** A gateway that runs apart from its control plane. @throws Error of the file system */
export async function followControlPlane(
  gateway: Gateway,
  at: NonNullable<Settings['controlPlane']>,
): Promise<void> {
  const { context, configuration, issuer } = gateway
  const { settings, log, closers, conditions } = context
  // its control plane and its provider are where the operator says, however private the address
  const egress = createEgress({
    allow: [...settings.egressAllow, hostOf(at.url), hostOf(issuer)],
    allowLoopback: settings.nodeEnv !== 'production',
  })
  closers.add('connections to the control plane', () => egress.close())
  const credentials = new ClientCredentials({ ...at, egress, issuer, now: Date.now })
  const client = new ControlPlaneClient({ egress, credentials, url: at.url })
  const hello = helloOf(gateway)
  const remote = new RemoteGateway({
    client,
    reporter: new Reporter({
      client,
      bookPath: join(settings.dataDir, 'control-report.ndjson'),
      workers: hello.workers,
      news: () => stateOf(gateway),
      log,
    }),
    hello,
    dataDir: settings.dataDir,
    apply: control => configuration.change({ control }),
    onFault: fault => conditions.set('control plane', fault),
    log,
  })
  closers.add('link to the control plane', () => remote.close())
  await remote.start(FIRST_SNAPSHOT_MS)
}

/** As the address guard reads it. */
function hostOf(url: string): string {
  return new URL(url).hostname.replace(/^\[|\]$/g, '')
}

function helloOf({ context: { settings }, plane, gatewayUrl, issuer }: Gateway) {
  return {
    name: settings.gatewayName,
    url: gatewayUrl,
    version: VERSION,
    workers: plane.workers,
    authConfig: { issuer, audiences: settings.auth.allowedAudiences },
  }
}

/** The gateway counts by tenant name, the control plane by tenant id. */
function stateOf({ plane, configuration }: Gateway): GatewayState {
  const { usage, keysUsed, consumersSeen } = plane.takeUsage()
  const { tenants } = configuration.control
  const ids = new Map([...tenants.values()].map(tenant => [tenant.name, tenant.id]))
  const seen = consumersSeen.flatMap(({ tenant, subject, at }) => {
    const tenantId = ids.get(tenant)
    return tenantId === undefined ? [] : [{ tenantId, subject, at }]
  })
  return { status: plane.status(), usage, keysUsed, consumersSeen: seen }
}
