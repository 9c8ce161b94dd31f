/** Combines the decisions of the platform's policy with those for the tenants of caller and resource. */

import { andThen } from '../../base/and-then.ts'
import { oncePer } from '../../base/once-per.ts'
import { policyUnavailable } from '../decision.ts'
import type { Decision, PolicyInput, PreparedPolicy } from '../engine.ts'

/** A tenant whose bundle cannot be served has `null`: its calls are denied until it can. */
export type TenantPolicies = ReadonlyMap<string, PreparedPolicy | null>

type Obligations = NonNullable<Decision['obligations']>

/** The same object as `platform` without tenant bundles, so that they cost nothing. */
export function tighten(platform: PreparedPolicy, tenants: TenantPolicies): PreparedPolicy {
  return tenants.size === 0 ? platform : new TightenedPolicy(platform, tenants)
}

class TightenedPolicy implements PreparedPolicy {
  readonly engine
  readonly revision: string
  readonly #platform: PreparedPolicy
  readonly #tenants: TenantPolicies
  /** Decisions are cached objects: what two of them make together is cached with them. */
  readonly #joined = oncePer((first: Decision) =>
    oncePer((second: Decision) => joinedDecision(first, second)),
  )

  constructor(platform: PreparedPolicy, tenants: TenantPolicies) {
    this.engine = platform.engine
    this.revision = platform.revision
    this.#platform = platform
    this.#tenants = tenants
  }

  decide(input: PolicyInput, subjectKey: string, resourceKey: number): Decision | Promise<Decision> {
    const first = this.#platform.decide(input, subjectKey, resourceKey)
    return andThen(first, value => this.#further(value, input, subjectKey, resourceKey))
  }

  listKey(subjectKey: string, input: () => PolicyInput): string | undefined {
    const keys = [this.#platform.listKey(subjectKey, input)]
    for (const tenant of tenantsOf(input())) {
      const policy = this.#policyOf(tenant)
      if (policy !== undefined) keys.push(policy?.listKey(subjectKey, input))
    }
    return keys.includes(undefined) ? undefined : keys.length === 1 ? keys[0] : JSON.stringify(keys)
  }

  get cached(): number {
    return this.#each(policy => policy.cached)
  }

  clearCache(): number {
    return this.#each(policy => policy.clearCache())
  }

  /** The parts are closed by their owner. */
  close(): void {}

  #each(count: (policy: PreparedPolicy) => number): number {
    let sum = count(this.#platform)
    for (const policy of this.#tenants.values()) if (policy !== null) sum += count(policy)
    return sum
  }

  #further(
    first: Decision,
    input: PolicyInput,
    subjectKey: string,
    resourceKey: number,
  ): Decision | Promise<Decision> {
    let decision: Decision | Promise<Decision> = first
    for (const tenant of tenantsOf(input)) {
      const policy = this.#policyOf(tenant)
      if (policy === undefined) continue
      decision = andThen(decision, value => this.#also(value, policy, input, subjectKey, resourceKey))
    }
    return decision
  }

  /** undefined: the tenant has no bundle. */
  #policyOf(tenant: string | null): PreparedPolicy | null | undefined {
    return tenant === null ? undefined : this.#tenants.get(tenant)
  }

  #also(
    first: Decision,
    policy: PreparedPolicy | null,
    input: PolicyInput,
    subjectKey: string,
    resourceKey: number,
  ): Decision | Promise<Decision> {
    // a denial stands, and its reasons with it
    if (!first.allow) return first
    if (policy === null) return policyUnavailable(first.revision)
    const second = policy.decide(input, subjectKey, resourceKey)
    return andThen(second, value => this.#joined(first)(value))
  }
}

/** The tenant the caller acts in, then the one the thing belongs to. */
function tenantsOf({ subject, resource }: PolicyInput): readonly (string | null)[] {
  const own = subject.properties.tenant
  const other = resource.properties.tenant
  return own === other ? [own] : [own, other]
}

function joinedDecision(first: Decision, second: Decision): Decision {
  const revision = `${first.revision}+${second.revision}`
  if (!second.allow) return Object.freeze({ ...second, revision })
  const obligations = joinedObligations(first.obligations ?? {}, second.obligations ?? {})
  if (obligations === undefined) return policyUnavailable(revision)
  const { obligations: _, ...rest } = first
  return Object.freeze({
    ...rest,
    revision,
    ...(Object.keys(obligations).length === 0 ? {} : { obligations }),
  })
}

/** undefined when they contradict each other: the gateway does not guess which one counts. */
function joinedObligations(platform: Obligations, tenant: Obligations): Obligations | undefined {
  const joined: Record<string, unknown> = { ...platform }
  for (const [name, parameters] of Object.entries(tenant)) {
    // a tenant cannot take an obligation back
    if (parameters === false) continue
    const given = joined[name]
    if (given === undefined || given === false || same(given, parameters)) joined[name] = parameters
    else if (name === 'redact')
      joined[name] = { paths: [...listOf(given, 'paths'), ...listOf(parameters, 'paths')] }
    else if (name === 'limit') joined[name] = tighter(given, parameters)
    // the platform's words ask already
    else if (name !== 'confirm' && name !== 'log') return undefined
  }
  return joined
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

function listOf(parameters: unknown, name: string): unknown[] {
  const list = (Object(parameters) as Record<string, unknown>)[name]
  // the gateway refuses a value that is not a list
  return Array.isArray(list) ? list : [list]
}

function tighter(a: unknown, b: unknown): unknown {
  const [one, other] = [a, b].map(limit => (Object(limit) as { per_minute?: unknown }).per_minute)
  if (typeof one !== 'number' || typeof other !== 'number') return {}
  return { per_minute: Math.min(one, other) }
}
