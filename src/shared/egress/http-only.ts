/** The outgoing client for everything that is not an upstream: documents, tokens, keys, policies. It refuses Unix sockets and changes nothing else. */
import type { Egress, EgressFailure } from './egress.ts'
import { failure } from './failure.ts'
import { ONLY_UPSTREAMS } from './target.ts'

/** The same connections; what a URL other than http(s) names is not reached, whatever the operator lists. */
export function httpOnly(egress: Egress): Egress {
  return {
    request: sent => (isHttp(sent.url) ? egress.request(sent) : Promise.resolve(refused())),
    stream: sent => (isHttp(sent.url) ? egress.stream(sent) : Promise.resolve(refused())),
    close: () => egress.close(),
  }
}

function isHttp(url: string): boolean {
  return /^https?:\/\//i.test(url)
}

function refused(): EgressFailure {
  return failure('protocol', ONLY_UPSTREAMS, false)
}
