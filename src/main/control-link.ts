/** Joins the gateway of this process with a control plane: snapshots in, what was counted out. It moves; it decides nothing. */
import type { ControlPlane } from '../control/control-plane.ts'
import type { ControlShare } from '../snapshot/control-share.ts'
import type { UsageNews } from '../stages/count-usage.ts'
import { VERSION } from '../version.ts'
import type { Configuration } from './configuration.ts'
import type { DataPlane } from './data-plane.ts'
import type { Ground } from './ground.ts'

export interface LinkParts {
  readonly ground: Ground
  readonly plane: DataPlane
  readonly configuration: Configuration
  readonly gatewayUrl: string
  readonly issuer: string
}

/** The gateway of the control plane's own process. */
export async function attachGateway(controlPlane: ControlPlane, link: LinkParts): Promise<void> {
  const { ground, plane, configuration } = link
  await controlPlane.attach({
    ...helloOf(link),
    apply: control => configuration.change({ control }),
    news: () => ({ status: plane.status(), ...newsOf(plane.takeUsage(), configuration.control) }),
  })
  ground.log.info({ gateway: ground.settings.gatewayName }, 'the gateway is attached to its control plane')
}

function helloOf({ ground: { settings }, gatewayUrl, issuer }: LinkParts) {
  return {
    name: settings.gatewayName,
    url: gatewayUrl,
    version: VERSION,
    workers: 1,
    authConfig: { issuer, audiences: settings.auth.allowedAudiences },
  }
}

/** The gateway counts by tenant name, the control plane by tenant id. */
function newsOf({ usage, keysUsed, consumersSeen }: UsageNews, control: ControlShare) {
  const ids = new Map([...control.tenants.values()].map(tenant => [tenant.name, tenant.id]))
  const seen = consumersSeen.flatMap(({ tenant, subject, at }) => {
    const tenantId = ids.get(tenant)
    return tenantId === undefined ? [] : [{ tenantId, subject, at }]
  })
  return { usage, keysUsed, consumersSeen: seen }
}
