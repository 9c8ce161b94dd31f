/** The request and response formats of a policy server: OPA's data API and AuthZEN's evaluation. */
import { writeJson } from '../../base/json/exact-number.ts'
import { isObject } from '../../base/json/is-object.ts'
import type { PolicyInput } from '../engine.ts'

/** `opa`: POST /v1/data/<path> (OPA REST API, "Data API"). `authzen`: POST /access/v1/evaluation (Authorization API 1.0 §6). */
export type PolicyServerForm = 'opa' | 'authzen'

export interface Form {
  /** Body of the request. */
  request(input: PolicyInput): string
  /** The decision document `{allow, reasons, obligations}`; undefined when the server made no decision. */
  document(response: unknown): unknown
  /** Revision of the policy that decided; undefined when the server does not say. */
  revision(response: unknown): string | undefined
}

export function formOf(url: URL, form: PolicyServerForm | undefined): Form {
  const chosen = form ?? (url.pathname.endsWith('/access/v1/evaluation') ? 'authzen' : 'opa')
  return chosen === 'authzen' ? AUTHZEN : OPA
}

const OPA: Form = {
  request: input => writeJson({ input }),
  document: response => (isObject(response) ? response.result : undefined),
  revision(response) {
    // ?provenance=true: one entry per bundle the server runs
    const provenance = isObject(response) ? response.provenance : undefined
    const bundles = isObject(provenance) ? provenance.bundles : undefined
    if (!isObject(bundles)) return undefined
    const revisions = Object.values(bundles).flatMap(bundle =>
      isObject(bundle) && typeof bundle.revision === 'string' && bundle.revision !== ''
        ? [bundle.revision]
        : [],
    )
    return revisions.length === 0 ? undefined : revisions.sort().join('+')
  },
}

const AUTHZEN: Form = {
  request: input => writeJson(input),
  document(response) {
    if (!isObject(response) || response.decision === undefined) return undefined
    const context = isObject(response.context) ? response.context : {}
    return { allow: response.decision, reasons: context.reasons ?? [], obligations: context.obligations }
  },
  revision(response) {
    const context = isObject(response) ? response.context : undefined
    return isObject(context) && typeof context.revision === 'string' ? context.revision : undefined
  },
}
