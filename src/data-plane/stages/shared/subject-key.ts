/** The key of a class of callers for whom the policy decides alike. It evaluates no policy. */
import type { Exchange } from '../../pipeline/exchange.ts'

/** Visibility key of the principal, and the tenant when the caller acts for another one. */
export function subjectKeyOf(exchange: Exchange): string {
  const principal = exchange.principal!
  return exchange.tenant === principal.tenant
    ? principal.visibilityKey
    : `${exchange.tenant}\n${principal.visibilityKey}`
}
