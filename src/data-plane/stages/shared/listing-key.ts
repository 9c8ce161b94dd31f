/** The key under which a filtered list of a class of callers is cached. */
import type { Exchange } from '../../pipeline/exchange.ts'
import { type List, listInput } from './policy-input.ts'
import { subjectKeyOf } from './subject-key.ts'

/** undefined: the policy may decide differently each time, so that the list is made for this exchange only. */
export function listingKeyOf(exchange: Exchange, list: List): string | undefined {
  const key = exchange.snapshot.policy.listKey(subjectKeyOf(exchange), () => listInput(exchange, list))
  // at the end, because keys may begin with the name of a tenant
  return key === undefined || list === 'tools.list' ? key : `${key}\n${list}`
}
