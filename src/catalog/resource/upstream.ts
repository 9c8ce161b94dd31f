/** Reads `spec.upstream` of a ToolSet resource: the HTTP version of the calls. */
import { chosenTransport, type UpstreamTransport } from '../../model/upstream-transport.ts'
import type { ResourceFields } from './fields.ts'

export function readUpstream(spec: ResourceFields): { readonly upstream?: UpstreamTransport } {
  const fields = spec.object('upstream')
  if (fields === undefined) return {}
  const http2 = fields.boolean('http2') ?? false
  fields.close()
  const upstream = chosenTransport({ http2 })
  return upstream === undefined ? {} : { upstream }
}
