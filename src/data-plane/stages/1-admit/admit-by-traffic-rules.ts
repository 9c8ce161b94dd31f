/** Refuses proxied calls whose method or declared body size the traffic rules of their API do not allow. */

import { refuse } from '../../../model/refusal.ts'
import { allowsMethod } from '../../../model/traffic.ts'
import type { Stage } from '../../pipeline/stage.ts'

export function admitByTrafficRules(): Stage {
  return {
    id: 'admit-by-traffic-rules',
    phase: 'admit',
    run({ operation, requestBytes }) {
      if (operation.action !== 'proxy' || operation.api.traffic === undefined) return undefined
      const { traffic } = operation.api
      if (!allowsMethod(traffic, operation.method))
        return refuse('method_not_allowed', { headers: { allow: traffic.methods!.join(', ') } })
      const { maxRequestBytes = null } = traffic
      if (maxRequestBytes === null || requestBytes <= maxRequestBytes) return undefined
      return refuse('payload_too_large', {
        message: `The body is larger than the ${maxRequestBytes} bytes that this API accepts.`,
      })
    },
  }
}
