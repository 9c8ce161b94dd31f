/** Reads `spec.upstream` of a ToolSet resource: how calls share connections. It opens none. */
import { chosenTransport, MAX_PIPELINING, type UpstreamTransport } from '../../model/upstream-transport.ts'
import type { ResourceFields } from './fields.ts'

/** @param baseUrl of the spec, where it names one */
export function readUpstream(
  spec: ResourceFields,
  baseUrl: string | undefined,
): { readonly upstream?: UpstreamTransport } {
  const fields = spec.object('upstream')
  if (fields === undefined) return {}
  const pipelining = fields.integer('pipelining', 1, MAX_PIPELINING) ?? 1
  const http2 = fields.boolean('http2') ?? false
  fields.close()
  if (pipelining > 1 && http2)
    fields.fault(
      'pipelining',
      'is set together with http2',
      'remove one of the two: HTTP/2 does not use pipelining',
    )
  else if (pipelining > 1 && baseUrl?.toLowerCase().startsWith('https:') === true)
    fields.fault(
      'pipelining',
      'is set, but spec.baseURL is an https address',
      'remove it, or write http2: true instead',
    )
  const upstream = chosenTransport({ pipelining, http2 })
  return upstream === undefined ? {} : { upstream }
}
