/** The rules of an API for calls of its upstream, made ready from its traffic rules. It sends nothing. */
import type { Traffic } from '../../model/traffic.ts'
import type { CircuitRule, RetryRule } from '../../model/upstream-rules.ts'

export interface UpstreamRules {
  /** Equal rules have the same key: what was learned about the upstream under them stays valid. */
  readonly key: string
  readonly retry: RetryRule | null
  readonly circuit: CircuitRule | null
}

/** @param id of the API @returns undefined: the API has none of these rules, and its calls go the way of all others. */
export function upstreamRulesOf(
  id: string,
  upstreamUrl: string,
  traffic: Traffic | undefined,
): UpstreamRules | undefined {
  const { retry = null, circuitBreaker: circuit = null } = traffic ?? {}
  if (retry === null && circuit === null) return undefined
  const rules = { retry, circuit }
  return Object.freeze({ ...rules, key: JSON.stringify([id, upstreamUrl, rules]) })
}
