/** Asks the policy about a change of fields that not every member of the tenant may change. */
import { isDeepStrictEqual } from 'node:util'
import { snakeCase } from '../../../base/snake-case.ts'
import { apiAuthorities } from '../../../model/schema/api.ts'
import type { Authority } from '../../../model/schema/authority.ts'
import { productAuthorities } from '../../../model/schema/product.ts'
import { Problem } from '../http/problem.ts'
import type { Patch } from './records.ts'

/** Asks the policy about a further action on a resource of the tenant. @throws Problem forbidden, unavailable */
export type AskPolicy = (action: string) => Promise<void>

/** The resources of which members may change some fields, and the action that the policy allows to change the others. */
export const GOVERN = { api: 'control.apis.govern', product: 'control.products.govern' } as const
const AUTHORITIES: { readonly [resource in keyof typeof GOVERN]: { readonly [field: string]: Authority } } = {
  api: apiAuthorities,
  product: productAuthorities,
}

/** Names in the model that are not those of requests in camel case. */
const FIELDS: { readonly [property: string]: string } = { requestsPerHour: 'rate_limit' }

/** @throws Problem forbidden with the fields that differ and are not a member's, if the policy does not allow it; unavailable */
export async function requireAuthority<Record>(
  resource: keyof typeof GOVERN,
  record: Record,
  patch: Patch<NoInfer<Record>>,
  ask: AskPolicy,
): Promise<void> {
  const of = AUTHORITIES[resource]
  const changed = (Object.keys(patch) as (keyof Record & string)[])
    .filter(name => patch[name] !== undefined && !isDeepStrictEqual(record[name], patch[name]))
    .map(name => FIELDS[name] ?? snakeCase(name))
    .filter(field => of[field] !== 'member')
  if (changed.length === 0) return
  try {
    await ask(GOVERN[resource])
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== 'forbidden') throw error
    throw new Problem(
      'forbidden',
      `The caller may not change ${changed.join(', ')}. ${error.message}`,
      changed.map(field => ({ field, message: `needs the authority ${of[field]}.` })),
    )
  }
}
