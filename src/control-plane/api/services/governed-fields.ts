/** The fields of APIs and products that not every member of a tenant may change, and the question to the policy about a change of them. */
import { isDeepStrictEqual } from 'node:util'
import type { Api } from '../../../model/api.ts'
import type { Product } from '../../../model/product.ts'
import { DEFAULT_MCP_UPSTREAM } from '../../../model/schema/mcp-upstream.ts'
import { Problem } from '../http/problem.ts'

/** Asks the policy about a further action on a resource of the tenant. @throws Problem forbidden, unavailable */
export type AskPolicy = (action: string) => Promise<void>

interface Governed<Resource> {
  /** Action of the policy that allows a change. */
  readonly action: string
  /** Field of the body → why it is governed, its value, and, if that matters, which resources it is governed of. */
  readonly fields: {
    readonly [field: string]: {
      readonly why: string
      readonly of: (resource: Resource) => unknown
      readonly only?: (resource: Resource) => boolean
    }
  }
}

type GovernedApi = Pick<Api, 'authRequired' | 'mcp' | 'type' | 'upstreamUrl' | 'traffic'>

const WHERE = 'is an address to which the gateway sends a credential of this API.'

export const GOVERNED_API: Governed<GovernedApi> = {
  action: 'control.apis.govern',
  fields: {
    auth_required: {
      why: 'decides whether callers need an approved subscription.',
      of: api => api.authRequired,
    },
    mcp: {
      why: 'decides which credential the gateway sends, and where.',
      of: api => api.mcp ?? DEFAULT_MCP_UPSTREAM,
    },
    type: { why: 'decides how the gateway uses the address and its credential.', of: api => api.type },
    upstream_url: { why: WHERE, of: api => api.upstreamUrl, only: hasCredential },
    'traffic.upstreams': {
      why: WHERE,
      of: api => api.traffic?.upstreams?.addresses.map(({ url }) => url).sort(),
      only: hasCredential,
    },
    'traffic.mirror': { why: WHERE, of: api => api.traffic?.mirror?.url, only: hasCredential },
  },
}

export const GOVERNED_PRODUCT: Governed<Pick<Product, 'apiIds' | 'plan'>> = {
  action: 'control.products.govern',
  fields: {
    api_ids: {
      why: 'decides what existing subscriptions may call.',
      of: ({ apiIds }) => [...apiIds].sort(),
    },
    plan: { why: 'decides the limits and the approval of new subscriptions.', of: ({ plan }) => plan },
  },
}

/** One of the tenant for an MCP server, or a header that the API sets, which usually is a key of the backend. */
function hasCredential({ mcp, traffic }: GovernedApi): boolean {
  const headers = Object.keys(traffic?.requestHeaders.set ?? {})
  return (mcp !== null && mcp.authentication.type !== 'none') || headers.length > 0
}

/** What a member may register: with these values, no field of a new API is governed. */
export function ungoverned(api: GovernedApi): GovernedApi {
  return { ...api, authRequired: true, mcp: null }
}

/** @throws Problem forbidden with the fields that differ, if any differ and the policy does not allow it; unavailable */
export async function requireGovernance<Resource>(
  { action, fields }: Governed<Resource>,
  before: NoInfer<Resource>,
  after: NoInfer<Resource>,
  ask: AskPolicy,
): Promise<void> {
  const changed = Object.entries(fields).filter(
    ([, { of, only }]) =>
      (only === undefined || only(before) || only(after)) && !isDeepStrictEqual(of(before), of(after)),
  )
  if (changed.length === 0) return
  try {
    await ask(action)
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== 'forbidden') throw error
    const names = changed.map(([field]) => field).join(', ')
    throw new Problem(
      'forbidden',
      `The caller may not change ${names}. ${error.message}`,
      changed.map(([field, { why }]) => ({ field, message: why })),
    )
  }
}
