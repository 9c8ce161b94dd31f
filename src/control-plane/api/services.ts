/** The interface of the services that endpoints use. */

import type { HostsOfSecret } from '../../model/bound-secret.ts'
import type { MayExchangeAt } from '../../net/egress/oauth/exchange-endpoints.ts'
import type { PolicyWorkshop } from '../../policy/workshop/policy-workshop.ts'
import type { Fleet } from '../publisher/fleet.ts'
import type { Publisher } from '../publisher/publisher.ts'

export interface Services {
  readonly gatewayUrl: string
  readonly publisher: Publisher
  readonly fleet: Fleet
  /** Why no delivery can reach the address of a webhook; undefined when one may. */
  readonly webhookFault: (url: string) => string | undefined
  /** Where gateways may exchange tokens of callers. */
  readonly mayExchangeAt: MayExchangeAt
  /** Gateways check them again. */
  readonly hostsOfSecret: HostsOfSecret
  /** Why a document cannot have tools; undefined when it can. */
  readonly specFault: ((spec: string) => string | undefined) | undefined
  /** undefined: a policy server has the policy. */
  readonly workshop: PolicyWorkshop | undefined
}
