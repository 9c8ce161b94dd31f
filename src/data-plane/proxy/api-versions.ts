/** Proxied APIs by address, and the choice among the versions at an address by a request header. */
import { type Refusal, refuse } from '../../model/refusal.ts'
import type { Call } from '../http/call.ts'
import type { CompiledApi } from '../snapshot/snapshot.ts'

/** The APIs at one prefix: one, or versions that a header distinguishes. */
export interface Site {
  readonly prefix: string
  readonly apis: readonly [CompiledApi, ...CompiledApi[]]
}

/** @param apis in the order of their prefixes */
export function sitesOf(apis: readonly CompiledApi[]): readonly Site[] {
  const sites: { prefix: string; apis: [CompiledApi, ...CompiledApi[]] }[] = []
  for (const api of apis) {
    const last = sites.at(-1)
    if (last?.prefix === api.prefix) last.apis.push(api)
    else sites.push({ prefix: api.prefix, apis: [api] })
  }
  return sites
}

/** Names of the request headers that choose a version. */
export function versionHeaders({ apis }: Site): readonly string[] {
  return [...new Set(apis.flatMap(({ version }) => (version === undefined ? [] : [version.header])))]
}

/** The API that serves requests without a version, else the first: a preflight names none. */
export function defaultVersion({ apis }: Site): CompiledApi {
  return apis.find(({ version }) => version?.isDefault === true) ?? apis[0]
}

/** The version that the request names, else the default one. */
export function chooseVersion({ apis }: Site, { request }: Call): CompiledApi | Refusal {
  const [first] = apis
  if (first.version === undefined) return first
  const { header } = first.version
  const wanted = request.header(header)
  const chosen =
    wanted === ''
      ? apis.find(({ version }) => version!.isDefault)
      : apis.find(({ version }) => version!.label === wanted)
  if (chosen !== undefined) return chosen
  const labels = apis.map(({ version }) => version!.label).join(', ')
  const fault = wanted === '' ? 'names no version' : 'names a version that does not exist'
  return refuse('invalid_request', {
    message: `The request ${fault}. Send the header ${header} with one of these versions: ${labels}.`,
    headers: { vary: header },
  })
}
