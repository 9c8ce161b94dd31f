/** Who calls, for which tenant, and what the policy says to it. It holds no rule about scopes or roles except who may cross tenants. */

import type { Principal } from '../../../model/principal.ts'
import type { Tenant } from '../../../model/tenant.ts'
import { bearerToken } from '../../../shared/identity/bearer.ts'
import type { TokenVerifier } from '../../../shared/identity/verifier.ts'
import {
  type Decision,
  POLICY_RETRY_SECS,
  type PolicyInput,
  type PreparedPolicy,
} from '../../../shared/policy/engine.ts'
import type { Store } from '../../store/store.ts'
import { EVERY_TENANT } from '../../store/store.ts'
import { Problem, unavailable } from './problem.ts'

/** May act for another tenant (contract §2). */
const PLATFORM_ADMIN = 'cpi-admin'

/** @throws Problem unauthorized */
export async function authenticate(
  verifier: TokenVerifier,
  request: Request,
  nowMs: number,
): Promise<Principal> {
  const token = bearerToken(request.headers.get('authorization') ?? '')
  if (token === undefined) throw unauthorized('A bearer token is needed.', '')
  const verified = await verifier.verify(token, nowMs)
  if (verified.kind !== 'refusal') return verified
  if (verified.row.status !== 401) throw new Problem('forbidden', verified.message)
  throw unauthorized(verified.message, `error="${verified.row.oauth || 'invalid_token'}"`)
}

function unauthorized(message: string, parameter: string): Problem {
  const challenge = `Bearer realm="toolgate"${parameter === '' ? '' : `, ${parameter}`}`
  return new Problem('unauthorized', message, [], [['www-authenticate', challenge]])
}

/** Where a call acts, as far as tokens, header and path tell. */
export interface Standing {
  readonly principal: Principal
  /** The tenant of the token, when it exists. */
  readonly home: Tenant | undefined
  /** The tenant of the path or of `X-Tenant-ID`, else the home; undefined = none, or all of them. */
  readonly tenant: Tenant | undefined
  /** What the path or header said, when no such tenant exists. */
  readonly unknownTenant: string | undefined
  readonly crossesTenants: boolean
}

/**
 * Resolves the tenants of a call. A caller who may cross tenants acts for the tenant of the path without naming it in a header.
 * @throws Problem forbidden when `X-Tenant-ID` names a tenant that is not the caller's
 */
export async function locate(
  store: Store,
  principal: Principal,
  pathTenant: string | undefined,
  headerTenant: string,
): Promise<Standing> {
  const crossesTenants = principal.roles.includes(PLATFORM_ADMIN)
  const asked = pathTenant ?? (headerTenant === '' ? undefined : headerTenant)
  const { home, found } = await store.read(EVERY_TENANT, async tx => ({
    home: principal.tenant === undefined ? undefined : await tx.tenants.resolve(principal.tenant),
    found: asked === undefined || hasNul(asked) ? undefined : await tx.tenants.resolve(asked),
  }))
  if (headerTenant !== '' && !crossesTenants && !names(principal, home, headerTenant)) {
    throw new Problem('forbidden', 'X-Tenant-ID names another tenant than the token.')
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

/** PostgreSQL text holds no NUL; such a name exists nowhere. */
function hasNul(text: string): boolean {
  return text.includes('\0')
}

export interface Question {
  readonly action: string
  readonly resourceId: string
  /** Name of the tenant the thing belongs to; null = everybody's. */
  readonly tenant: string | null
  readonly own: boolean
  readonly timeMs: number
}

/** Same number for questions the policy cannot tell apart. Numbers are never used again, so the table may be dropped when it is full. */
const MAX_NUMBERS = 10_000
const numbers = new Map<string, number>()
let lastNumber = 0

function numberOf(key: string): number {
  let number = numbers.get(key)
  if (number === undefined) {
    if (numbers.size >= MAX_NUMBERS) numbers.clear()
    number = ++lastNumber
    numbers.set(key, number)
  }
  return number
}

/** @throws Problem forbidden with the policy's reasons; unavailable when the policy could not decide */
export async function authorize(
  policy: PreparedPolicy,
  standing: Standing,
  question: Question,
): Promise<void> {
  const decision = await decide(policy, standing, question)
  if (decision.allow) return
  const reasons = reasonsOf(decision)
  throw new Problem('forbidden', reasons === '' ? 'The policy does not allow this.' : reasons)
}

function reasonsOf(decision: Decision): string {
  return decision.reasons.map(reason => reason.message).join(' ')
}

/**
 * Authorizes a list: all of it or, where the policy does not allow that, what belongs to the caller's own application.
 * @returns the application that the list must be reduced to; undefined = none
 * @throws Problem forbidden when the policy allows neither; unavailable when it could not decide
 */
export async function authorizeList(
  policy: PreparedPolicy,
  standing: Standing,
  question: Question,
): Promise<string | undefined> {
  const whole = await decide(policy, standing, question)
  if (whole.allow) return undefined
  await authorize(policy, standing, { ...question, own: true })
  return standing.principal.consumer
}

/** @throws Problem unavailable when the policy could not decide */
async function decide(policy: PreparedPolicy, standing: Standing, question: Question): Promise<Decision> {
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
