/** A gateway in this process: its listener, its data plane and the configuration that flows into it. It knows no control plane. */
import { readPlans } from '../quota/plans.ts'
import { EMPTY_CONTENT } from '../snapshot/document.ts'
import { Configuration } from './configuration.ts'
import { type DataPlane, startDataPlane } from './data-plane.ts'
import { type Ground, type OpenListener, openListener } from './ground.ts'
import { adoptSpool, openMeter, sendEvents } from './metering.ts'
import { openQuota } from './open-quota.ts'
import { startTools } from './tools.ts'

export interface Gateway {
  readonly ground: Ground
  readonly door: OpenListener
  readonly plane: DataPlane
  /** Serves nothing until the tools and the control plane have spoken. */
  readonly configuration: Configuration
  readonly gatewayUrl: string
  readonly issuer: string
  /** @returns the address of the example, where it was started */
  startTools(): Promise<string | undefined>
}

export async function openGateway(ground: Ground, issuer: string): Promise<Gateway> {
  const { settings, log } = ground
  const door = await openListener(ground, settings.gateway)
  const gatewayUrl = settings.gateway.url ?? `http://localhost:${door.port}`
  adoptSpool(ground)
  const meter = openMeter(ground)
  sendEvents(ground)
  const quota = await openQuota(ground)
  const plane = await startDataPlane({ ground, door, gatewayUrl, issuer, quota, meter })
  const configuration = new Configuration({
    content: { ...EMPTY_CONTENT, ...readPlans(settings.plansFile) },
    awaited: ['tools', 'control'],
    deliver: change => plane.apply(change),
    log,
  })
  return {
    ground,
    door,
    plane,
    configuration,
    gatewayUrl,
    issuer,
    startTools: () => startTools(ground, gatewayUrl, tools => void configuration.change({ tools })),
  }
}
