/** The gist of the shipped policy in Cedar, for comparison: same tenant, and a scope that covers the call. */
import { preparsePolicySet, statefulIsAuthorized } from '@cedar-policy/cedar-wasm/nodejs'
import type { PolicyInput } from '../../src/policy/engine.ts'

const POLICIES = `
permit (principal, action == Action::"tools.call", resource)
when { principal.scopes.contains("execute") };
permit (principal, action == Action::"tools.call", resource)
when { principal.scopes.contains("read") && resource.readOnly };
forbid (principal, action, resource)
when { resource has tenant && resource.tenant != principal.tenant };
`
const SET = 'toolgate'

/** @returns whether Cedar allows it, its policies parsed once. @throws Error when they or the question are not valid */
export function cedar(): (input: PolicyInput) => boolean {
  const parsed = preparsePolicySet(SET, { staticPolicies: POLICIES })
  if (parsed.type === 'failure') throw new Error(parsed.errors.map(({ message }) => message).join('; '))
  return ({ subject, action, resource }) => {
    const principal = { type: 'Caller', id: subject.id }
    const tool = { type: 'Tool', id: resource.id }
    const { tenant } = resource.properties
    const response = statefulIsAuthorized({
      principal,
      action: { type: 'Action', id: action.name },
      resource: tool,
      context: {},
      preparsedPolicySetId: SET,
      validateRequest: false,
      entities: [
        {
          uid: principal,
          attrs: { tenant: subject.properties.tenant ?? '', scopes: [...subject.properties.scopes] },
          parents: [],
        },
        {
          uid: tool,
          attrs: {
            readOnly: resource.properties.annotations?.readOnlyHint === true,
            ...(tenant === null ? {} : { tenant }),
          },
          parents: [],
        },
      ],
    })
    if (response.type === 'failure') throw new Error(response.errors.map(({ message }) => message).join('; '))
    return response.response.decision === 'allow'
  }
}
