/** Restricts an outgoing client to http(s) addresses, for calls that are not to upstreams. */
import { isUnixUrl } from '../../model/upstream-url.ts'
import type { Egress, EgressFailure } from './egress.ts'
import { failure } from './failure.ts'
import { ONLY_UPSTREAMS } from './target.ts'

/** The same connections; what a URL other than http(s) names is not reached, whatever the operator lists. */
export function httpOnly(egress: Egress): Egress {
  return {
    request: sent => (isHttp(sent.url) ? egress.request(sent) : Promise.resolve(toRefusal(sent.url))),
    stream: sent => (isHttp(sent.url) ? egress.stream(sent) : Promise.resolve(toRefusal(sent.url))),
    close: () => egress.close(),
  }
}

function isHttp(url: string): boolean {
  return /^https?:\/\//i.test(url)
}

function toRefusal(url: string): EgressFailure {
  const reason = isUnixUrl(url.trim())
    ? ONLY_UPSTREAMS
    : 'the address does not begin with http:// or https://'
  return failure('unsendable', reason, false)
}
