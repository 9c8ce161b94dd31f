/** Authenticates a call, resolves its tenants and asks the policy about it. */

import { BoundedMap } from '../../../base/async/bounded-map.ts'
import { bearerToken } from '../../../identity/bearer.ts'
import type { TokenVerifier } from '../../../identity/verifier.ts'
import { asUser, PLATFORM_ADMIN, type Principal } from '../../../model/principal.ts'
import type { Tenant } from '../../../model/tenant.ts'
import type { WebPeer } from '../../../net/server/web.ts'
import {
  type Decision,
  POLICY_RETRY_SECS,
  type PolicyInput,
  type PreparedPolicy,
} from '../../../policy/engine.ts'
import type { Store } from '../../store/store.ts'
import { EVERY_TENANT } from '../../store/store.ts'
import { Problem, unavailable } from './problem.ts'

/** What the process adds to a request: the peer of the connection, and whether a page of the process calls. Nothing of it is read from the request. */
export interface CallOrigin {
  readonly peer?: WebPeer | undefined
  /** A page of this process calls for the user who signed in. */
  readonly forUser?: boolean
}

/** @throws Problem unauthorized, forbidden, unavailable */
export async function authenticateRequest(
  verifier: TokenVerifier,
  request: Request,
  { forUser }: CallOrigin,
  nowMs: number,
): Promise<Principal> {
  const token = bearerToken(request.headers.get('authorization') ?? '')
  if (token === undefined) throw unauthorized('A bearer token is required in the Authorization header.', '')
  const verified = await verifier.verify(token, nowMs)
  if (verified.kind !== 'refusal') return forUser === true ? asUser(verified) : verified
  if (verified.row.status === 503) throw unavailable(verified.message, verified.retryAfterSecs ?? 1)
  if (verified.row.status !== 401) throw new Problem('forbidden', verified.message)
  throw unauthorized(verified.message, `error="${verified.row.oauth || 'invalid_token'}"`)
}

function unauthorized(message: string, parameter: string): Problem {
  const challenge = `Bearer realm="toolgate"${parameter === '' ? '' : `, ${parameter}`}`
  return new Problem('unauthorized', message, [], [['www-authenticate', challenge]])
}

/** The caller and the tenants of a call, from token, header and path. */
export interface Standing {
  readonly principal: Principal
  /** The tenant of the token, when it exists. */
  readonly home: Tenant | undefined
  /** The tenant of the path or of `X-Tenant-ID`, else the home; undefined = none, or all of them. */
  readonly tenant: Tenant | undefined
  /** The reference in the path or header, when no such tenant exists. */
  readonly unknownTenant: string | undefined
  readonly crossesTenants: boolean
}

/**
 * Resolves the tenants of a call. A caller who may cross tenants acts for the tenant of the path without naming it in a header.
 * @throws Problem forbidden when the caller is blocked, or `X-Tenant-ID` names a tenant that is not the caller's
 */
export async function locate(
  store: Store,
  principal: Principal,
  pathTenant: string | undefined,
  headerTenant: string,
): Promise<Standing> {
  const crossesTenants = principal.roles.includes(PLATFORM_ADMIN)
  const asked = pathTenant ?? (headerTenant === '' ? undefined : headerTenant)
  const { home, found, consumer } = await store.read(EVERY_TENANT, async tx => {
    const home = principal.tenant === undefined ? undefined : await tx.tenants.resolve(principal.tenant)
    const found = asked === undefined || hasNul(asked) ? undefined : await tx.tenants.resolve(asked)
    const consumer = home && (await tx.within(home.id).consumers.bySubject(principal.consumer))
    return { home, found, consumer }
  })
  // administrators of a tenant block its callers, not those of the platform
  if (consumer?.status === 'blocked' && !crossesTenants)
    throw new Problem(
      'forbidden',
      'The calling application is blocked. Ask an administrator of the tenant to unblock it.',
    )
  if (headerTenant !== '' && !crossesTenants && !names(principal, home, headerTenant)) {
    throw new Problem(
      'forbidden',
      'X-Tenant-ID names a different tenant than the token. Omit X-Tenant-ID, or set it to the id or name of the tenant in the token.',
    )
  }
  const tenant = asked === undefined ? home : found
  return {
    principal,
    home,
    tenant: asked === undefined && crossesTenants ? undefined : tenant,
    unknownTenant: asked !== undefined && found === undefined ? asked : undefined,
    crossesTenants,
  }
}

function names(principal: Principal, home: Tenant | undefined, reference: string): boolean {
  return reference === principal.tenant || reference === home?.id || reference === home?.name
}

/** PostgreSQL text holds no NUL, so no tenant has such a name. */
function hasNul(text: string): boolean {
  return text.includes('\0')
}

export interface AccessQuestion {
  readonly action: string
  readonly resourceId: string
  /** Name of the owning tenant; null = the resource belongs to no tenant. */
  readonly tenant: string | null
  readonly own: boolean
  readonly timeMs: number
}

/** One number for each distinct policy question. Numbers are never reused, so an evicted question may get another one. */
const numbers = new BoundedMap<string, number>(10_000)
let lastNumber = 0

function numberOf(key: string): number {
  let number = numbers.get(key)
  if (number === undefined) {
    number = ++lastNumber
    numbers.set(key, number)
  }
  return number
}

/** @throws Problem forbidden with the policy's reasons; unavailable when the policy could not decide */
export async function authorizeRequest(
  policy: PreparedPolicy,
  standing: Standing,
  question: AccessQuestion,
): Promise<void> {
  const decision = await decide(policy, standing, question)
  if (decision.allow) return
  const reasons = reasonsOf(decision)
  throw new Problem('forbidden', reasons === '' ? 'The policy does not allow this request.' : reasons)
}

function reasonsOf(decision: Decision): string {
  return decision.reasons.map(reason => reason.message).join(' ')
}

/**
 * Authorizes a list: all of it or, when the policy does not allow that, what belongs to the caller's application.
 * @returns the application that the list must be limited to; undefined = no limit
 * @throws Problem forbidden when the policy allows neither; unavailable when it could not decide
 */
export async function authorizeList(
  policy: PreparedPolicy,
  standing: Standing,
  question: AccessQuestion,
): Promise<string | undefined> {
  const whole = await decide(policy, standing, question)
  if (whole.allow) return undefined
  await authorizeRequest(policy, standing, { ...question, own: true })
  return standing.principal.consumer
}

/** Whether the policy allows it, for a caller that only asks. @throws Problem unavailable when the policy could not decide */
export async function isAllowed(
  policy: PreparedPolicy,
  standing: Standing,
  question: AccessQuestion,
): Promise<boolean> {
  return (await decide(policy, standing, question)).allow
}

/** @throws Problem unavailable when the policy could not decide */
async function decide(
  policy: PreparedPolicy,
  standing: Standing,
  question: AccessQuestion,
): Promise<Decision> {
  const { principal, home, crossesTenants } = standing
  const ownTenant = home?.name ?? principal.tenant ?? null
  const actsIn = crossesTenants ? (question.tenant ?? ownTenant) : ownTenant
  const input: PolicyInput = {
    subject: {
      type: principal.kind,
      id: principal.subject,
      properties: {
        consumer: principal.consumer,
        tenant: actsIn,
        roles: principal.roles,
        scopes: principal.scopes,
        ...(principal.rights === undefined ? undefined : { rights: principal.rights }),
      },
    },
    action: { name: question.action },
    resource: {
      type: 'control',
      id: question.resourceId,
      properties: { tenant: question.tenant, own: question.own },
    },
    context: { access: 'control', time: question.timeMs, plan: null },
  }
  const subjectKey = JSON.stringify([principal.visibilityKey, principal.consumer, actsIn])
  const resourceKey = numberOf(JSON.stringify([question.action, question.tenant, question.own]))
  const decision = await policy.decide(input, subjectKey, resourceKey)
  if (decision.unavailable === true) throw unavailable(reasonsOf(decision), POLICY_RETRY_SECS)
  return decision
}
