/** The key of callers that the policy cannot tell apart. It asks no policy. */
import type { Exchange } from '../../pipeline/exchange.ts'

/** The policy cannot tell callers with the same key apart: visibility key, and the tenant when it was switched. */
export function subjectKeyOf(exchange: Exchange): string {
  const principal = exchange.principal!
  return exchange.tenant === principal.tenant
    ? principal.visibilityKey
    : `${exchange.tenant}\n${principal.visibilityKey}`
}
