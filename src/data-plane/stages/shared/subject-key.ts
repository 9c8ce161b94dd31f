/** The key of the class of a caller, under which results of policies and tools are cached. */
import type { Exchange } from '../../pipeline/exchange.ts'

/** Visibility key of the principal, and the tenant when the caller acts for another one. */
export function subjectKeyOf(exchange: Exchange): string {
  const principal = exchange.principal!
  return exchange.tenant === principal.tenant
    ? principal.visibilityKey
    : `${exchange.tenant}\n${principal.visibilityKey}`
}
