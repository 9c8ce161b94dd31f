/** Builds the policy inputs about exchanges and listed tools, and the keys of the resources in them. */

import { oncePer } from '../../../base/once-per.ts'
import { type Principal, reachesEveryTenant } from '../../../model/principal.ts'
import type { PolicyInput } from '../../../policy/engine.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import { ADMIN_RESOURCES, actionOf, isCall } from '../../pipeline/operation.ts'
import type { CompiledTool } from '../../snapshot/snapshot.ts'
import { entitlementOf } from './entitlement.ts'

/** Decisions about no single tool or API; tools use their index, which is never negative. */
const KEY_OF_ACTION = {
  'tools.list': -1,
  'resources.list': -2,
  'prompts.list': -3,
  session: -5,
} as const
export type List = 'tools.list' | 'resources.list' | 'prompts.list'

/** Timing key of `timingInput`. */
export const TIMING_KEY = -6
/** Numbers of the admin API count down from here. */
const FIRST_ADMIN = -16
const KEY_OF_ADMIN = Object.fromEntries(
  Object.keys(ADMIN_RESOURCES).map((resource, at) => [resource, FIRST_ADMIN - at]),
) as Readonly<Record<keyof typeof ADMIN_RESOURCES, number>>
/** APIs count down from here. */
const FIRST_API = -64

/** The number under which a decision about the resource may be cached: one per resource of the snapshot. */
export function resourceKeyOf(exchange: Exchange): number {
  const { operation } = exchange
  if (isCall(operation)) return exchange.tool!.index
  if (operation.action === 'proxy') return FIRST_API - operation.api.index
  return operation.action === 'admin' ? KEY_OF_ADMIN[operation.resource] : KEY_OF_ACTION[operation.action]
}

/** Calls with the same token have the same principal. */
const subjectInTenant = oncePer((principal: Principal) => subject(principal, principal.tenant))

function subjectOf({ principal, tenant }: Exchange): PolicyInput['subject'] {
  return tenant === principal!.tenant ? subjectInTenant(principal!) : subject(principal!, tenant)
}

function subject(principal: Principal, tenant: string | undefined): PolicyInput['subject'] {
  return Object.freeze({
    type: principal.kind,
    id: principal.subject,
    properties: Object.freeze({
      consumer: principal.consumer,
      tenant: tenant ?? null,
      roles: principal.roles,
      scopes: principal.scopes,
      ...(principal.rights === undefined ? undefined : { rights: principal.rights }),
    }),
  })
}

/** The part about a tool, which is the same in all inputs; collected with the compiled tool. */
const toolResource = oncePer(({ tool }: CompiledTool) =>
  Object.freeze({
    type: tool.feature === undefined ? 'tool' : tool.feature.kind === 'prompt' ? 'prompt' : 'resource',
    id: tool.name,
    properties: Object.freeze({
      tenant: tool.tenant,
      toolSet: tool.toolSet,
      source: tool.mcp === undefined ? 'openapi' : 'mcp',
      tags: tool.tags,
      annotations: Object.freeze({
        ...tool.annotations,
        destructiveHint: tool.destructive ?? tool.annotations.destructiveHint ?? true,
      }),
    }),
  }),
)

function resourceOf(exchange: Exchange): PolicyInput['resource'] {
  const { operation } = exchange
  if (isCall(operation)) return toolResource(exchange.tool!)
  if (operation.action === 'admin')
    return { type: 'admin', id: operation.resource, properties: { tenant: adminTenantOf(exchange) } }
  if (operation.action === 'proxy') {
    // an API without authentication is public
    return {
      type: 'api',
      id: operation.api.id,
      properties: { tenant: operation.api.authRequired ? operation.api.tenant : null },
    }
  }
  return allToolsOf(exchange)
}

function allToolsOf({ tenant }: Exchange): PolicyInput['resource'] {
  return { type: 'tools', id: '*', properties: { tenant: tenant ?? null } }
}

/** The part of a caller of one tenant is a resource of that tenant; the rest concerns every tenant. */
function adminTenantOf({ operation, tenant, principal }: Exchange): string | null {
  const within = operation.action === 'admin' && ADMIN_RESOURCES[operation.resource]
  return within && !reachesEveryTenant(principal!) ? (tenant ?? null) : null
}

/** What is asked before the call is made. */
export function policyInput(exchange: Exchange): PolicyInput {
  const { operation, answers } = exchange
  return {
    subject: subjectOf(exchange),
    action: { name: operation.action },
    resource: resourceOf(exchange),
    context: contextOf(
      exchange,
      isCall(operation) && operation.completion === undefined ? operation.arguments : undefined,
      answers,
    ),
  }
}

/** What is asked when a caller wants to see where the time of the exchange went. */
export function timingInput(exchange: Exchange): PolicyInput {
  return {
    subject: subjectOf(exchange),
    action: { name: 'admin' },
    // about the caller's own call
    resource: { type: 'admin', id: 'timing', properties: { tenant: exchange.tenant ?? null } },
    context: contextOf(exchange),
  }
}

/** What is asked before the caller lists something. The exchange may be for another operation. */
export function listInput(exchange: Exchange, list: List): PolicyInput {
  return {
    subject: subjectOf(exchange),
    action: { name: list },
    resource: allToolsOf(exchange),
    context: contextOf(exchange),
  }
}

/** What is asked about a tool that is only being listed: its arguments are unknown, so they are absent. */
export function listingInput(exchange: Exchange, entry: CompiledTool): PolicyInput {
  return {
    subject: subjectOf(exchange),
    action: { name: actionOf(entry.tool) },
    resource: toolResource(entry),
    context: contextOf(exchange),
  }
}

/** Unknown facts are absent, which shows a policy whether a tool is called or only listed. */
function contextOf(
  exchange: Exchange,
  args?: PolicyInput['context']['arguments'],
  answers?: PolicyInput['context']['answers'],
): PolicyInput['context'] {
  const plan = entitlementOf(exchange, exchange.principal!).plan?.slug ?? null
  const { access, receivedAtMs: time } = exchange
  if (args === undefined)
    return answers === undefined ? { access, time, plan } : { access, time, plan, answers }
  if (answers === undefined) return { access, time, plan, arguments: args }
  return { access, time, plan, arguments: args, answers }
}
