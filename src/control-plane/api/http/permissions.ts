/** Asks the policy what a caller may do with the actions of the endpoints. */
import type { PreparedPolicy } from '../../../policy/engine.ts'
import { isAllowed, type Standing } from './access.ts'
import type { Endpoint } from './endpoint.ts'

/** `own`: only on what belongs to the caller's application. */
type Extent = 'any' | 'own' | 'none'

export interface Permissions {
  /** The tenant that the decisions are about; null: none. */
  readonly tenant: string | null
  readonly crosses_tenants: boolean
  /** `<resource>.<verb>`, without `control.`. */
  readonly actions: Readonly<Record<string, Extent>>
}

/** @throws Problem unavailable when the policy could not decide */
export async function permissionsOf(
  endpoints: readonly Endpoint[],
  policy: PreparedPolicy,
  standing: Standing,
  timeMs: number,
): Promise<Permissions> {
  const { tenant: selected, home, principal, crossesTenants } = standing
  const tenant = selected?.name ?? home?.name ?? principal.tenant ?? null
  const actions: Record<string, Extent> = {}
  const asked = endpoints.flatMap(({ action, governs, reach }) =>
    [action, ...(governs === undefined ? [] : [governs])].map(each => ({ action: each, reach })),
  )
  for (const { action, reach } of asked) {
    const name = action.slice('control.'.length)
    if (actions[name] !== undefined) continue
    const question = { action, resourceId: '*', tenant: reach === 'platform' ? null : tenant, timeMs }
    actions[name] = (await isAllowed(policy, standing, { ...question, own: false }))
      ? 'any'
      : (await isAllowed(policy, standing, { ...question, own: true }))
        ? 'own'
        : 'none'
  }
  return { tenant, crosses_tenants: crossesTenants, actions }
}
