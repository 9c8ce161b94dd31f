/** `POST /admin/simulate` (docs/reference/http.md, Simulated calls): reads the simulated call and shows its outcome. `pipeline/simulate.ts` runs the stages. */

import { isObject } from '../../../base/json/is-object.ts'
import { namedMembers } from '../../../base/json/named-members.ts'
import { type Principal, principal } from '../../../model/principal.ts'
import { refuse } from '../../../model/refusal.ts'
import type { CallQuery } from '../../calls/call-query.ts'
import type { ProcessCalls } from '../../calls/process-calls.ts'
import { offeredTools } from '../../listing/offered-tools.ts'
import { definitionTokens } from '../../listing/tool-view.ts'
import { type Exchange, exchangeWithoutRequest } from '../../pipeline/exchange.ts'
import { isOffered, type Offer, offerOf } from '../../pipeline/offer.ts'
import type { Operation } from '../../pipeline/operation.ts'
import type { Final } from '../../pipeline/outcome.ts'
import type { SimulatedStep } from '../../pipeline/simulate.ts'
import type { CompiledTool, Snapshot } from '../../snapshot/snapshot.ts'
import type { Call } from '../call.ts'
import { ParameterFault, tenantSeenBy } from '../call-parameters.ts'
import { refuseEarly } from '../early-refusal.ts'
import type { GatewayParts } from '../gateway.ts'
import { readJson } from '../json-body.ts'
import type { RestTools } from '../rest.ts'
import { serveAdmin } from './admin-call.ts'

export interface SimulationParts {
  readonly calls: ProcessCalls
  readonly simulate: (
    exchange: Exchange,
  ) => Promise<{ readonly steps: readonly SimulatedStep[]; readonly final: Final }>
  /** Why a tool is not listed for the caller of an exchange; undefined: it is. */
  readonly hiddenBecause: (exchange: Exchange, tool: CompiledTool) => Promise<readonly object[] | undefined>
  /** `SCOPES=intersection` */
  readonly rights: Principal['rights']
}

const MAX_BODY_BYTES = 256 * 1024
const MAX_TEXT = 255
const MAX_LIST = 100
const MAX_HIDDEN = 500

interface Simulated {
  readonly tool: string | undefined
  readonly arguments: { readonly [name: string]: unknown }
  readonly access: 'rest' | 'jsonrpc'
  readonly tenant: string | undefined
  readonly consumer: string
  readonly subject: string | undefined
  readonly roles: readonly string[] | undefined
  readonly scopes: readonly string[] | undefined
}

export class SimulateAdmin {
  readonly #gateway: GatewayParts
  readonly #parts: SimulationParts
  readonly #rest: RestTools

  constructor(gateway: GatewayParts, parts: SimulationParts, rest: RestTools) {
    this.#gateway = gateway
    this.#parts = parts
    this.#rest = rest
  }

  /** POST /admin/simulate */
  simulate(call: Call, snapshot: Snapshot): void {
    const operation = { action: 'admin', resource: 'simulate' } as const
    const early = refuseEarly(this.#gateway, call, snapshot, 'admin', operation, refusal =>
      this.#rest.refuse(call, refusal),
    )
    if (early === undefined) return
    readJson(call, MAX_BODY_BYTES, body => {
      if (!early.proceed()) return
      if (body.kind === 'refusal') return this.#rest.refuse(call, body)
      void serveAdmin(this.#gateway, this.#rest, call, snapshot, 'simulate', admin =>
        this.#respond(call, snapshot, admin, body.value),
      )
    })
  }

  async #respond(call: Call, snapshot: Snapshot, admin: Principal, body: unknown): Promise<void> {
    const asked = readBody(body)
    const within = tenantSeenBy(admin)
    if (within !== undefined && asked.tenant !== undefined && asked.tenant !== within)
      return this.#rest.refuse(call, refuse('tenant_mismatch'))
    const tenant = within ?? asked.tenant
    const caller = await this.#callerOf(asked, tenant)
    if (caller === undefined) {
      const message = `No call from consumer "${asked.consumer}" is recorded, so the roles and scopes of the consumer are unknown. Send roles and scopes in the body.`
      return call.respond(404, { error: 'not_found', message, request_id: call.requestId })
    }
    const offer = offerOf(snapshot, { principal: caller, tenant: tenant ?? caller.tenant })
    const exchange = exchangeOf(call, snapshot, asked, offer)
    exchange.principal = caller
    exchange.tenant = tenant ?? caller.tenant
    const { steps, final } = await this.#parts.simulate(exchange)
    const refusal = final?.kind === 'refusal' ? final : undefined
    const { decision, tool, entitlement } = exchange
    const stopped = steps.find(({ result }) => result === 'refused')
    call.respond(200, {
      outcome: refusal?.reason ?? 'allowed',
      allowed: refusal === undefined,
      status: refusal?.row.status ?? 200,
      message: refusal?.message ?? null,
      stopped_at: stopped === undefined ? null : { stage: stopped.stage, phase: stopped.phase },
      stages: steps,
      caller: {
        kind: caller.kind,
        tenant: exchange.tenant ?? null,
        consumer: caller.consumer,
        subject: caller.subject,
        roles: caller.roles,
        scopes: caller.scopes,
        from: asked.roles === undefined && asked.scopes === undefined ? 'recorded call' : 'request',
      },
      plan:
        entitlement === undefined
          ? null
          : { plan: entitlement.plan?.slug ?? null, limits: entitlement.limits },
      decision:
        decision === undefined
          ? null
          : {
              allow: decision.allow,
              revision: decision.revision,
              reasons: decision.reasons,
              obligations: decision.obligations ?? null,
            },
      request: refusal === undefined && tool !== undefined ? requestOf(tool, asked.arguments) : null,
      ...(asked.tool === undefined ? await this.#listing(exchange, offer) : undefined),
    })
  }

  /** Roles and scopes of the request, else those of the newest recorded call. */
  async #callerOf(asked: Simulated, tenant: string | undefined): Promise<Principal | undefined> {
    const { consumer, subject = consumer, roles, scopes } = asked
    if (roles === undefined && scopes === undefined) {
      const query: CallQuery = tenant === undefined ? { consumer } : { consumer, tenant }
      return this.#parts.calls.callerOf(query)
    }
    const { rights } = this.#parts
    return principal({
      kind: 'token',
      subject,
      consumer,
      tenant,
      roles: roles ?? [],
      scopes: scopes ?? [],
      ...(rights === undefined ? undefined : { rights }),
      subscriptionId: undefined,
      expiresAtMs: Number.POSITIVE_INFINITY,
    })
  }

  /** What the model of the caller sees, and what it does not see and why. */
  async #listing(exchange: Exchange, offer: Offer): Promise<object> {
    const { listing } = exchange
    const offered = listing === undefined ? [] : [...offeredTools(listing, offer).byName.values()]
    const names = new Set(offered.map(({ entry }) => entry.tool.name))
    const hidden: object[] = []
    for (const [name, entry] of exchange.snapshot.toolsOf(exchange.tenant)) {
      if (hidden.length >= MAX_HIDDEN) break
      if (names.has(name)) continue
      const reasons = (await this.#parts.hiddenBecause(exchange, entry)) ?? reasonsOfView(entry, offer)
      hidden.push({ name, reasons })
    }
    return {
      tools: offered.map(({ tool }) => ({ name: tool.name, tokens: definitionTokens(tool) })),
      tokens: offered.reduce((sum, { tool }) => sum + definitionTokens(tool), 0),
      hidden,
    }
  }
}

function reasonsOfView({ tool }: CompiledTool, offer: Offer): readonly object[] {
  if (offer.view === undefined || isOffered(tool, offer)) return []
  const { namespace, name } = offer.view.view
  return [
    {
      code: 'not_in_view',
      message: `The ToolView ${namespace}/${name} applies to the caller and does not contain the tool.`,
    },
  ]
}

/** A tool may be named as the caller names it, or as the catalog does. */
function nameFor(name: string, { view }: Offer): string {
  return view === undefined || view.realName(name) !== undefined ? name : view.shownName(name)
}

function exchangeOf(call: Call, snapshot: Snapshot, asked: Simulated, offer: Offer): Exchange {
  const operation: Operation =
    asked.tool === undefined
      ? { action: 'tools.list' }
      : { action: 'tools.call', tool: nameFor(asked.tool, offer), arguments: asked.arguments }
  const { requestId, traceId, receivedAtMs } = call
  return exchangeWithoutRequest({
    requestId,
    traceId,
    access: asked.access,
    snapshot,
    operation,
    receivedAtMs,
  })
}

/** Without query and headers: they may hold the credential of the backend. */
function requestOf(tool: CompiledTool, args: Simulated['arguments']): object {
  const { method, url } = tool.buildRequest(args)
  return { method, url: url.split('?', 1)[0] }
}

/** @throws ParameterFault */
function readBody(body: unknown): Simulated {
  if (!isObject(body))
    throw new ParameterFault(
      'The body must be an object with the field "consumer" and, for the action "tools.call", the field "tool".',
    )
  const { action = 'tools.call', access = 'rest' } = body
  if (action !== 'tools.call' && action !== 'tools.list')
    throw new ParameterFault('action must be "tools.call" or "tools.list".')
  if (access !== 'rest' && access !== 'jsonrpc')
    throw new ParameterFault('access must be "rest" or "jsonrpc".')
  const args = namedMembers(body.arguments)
  if (args === undefined) throw new ParameterFault('arguments must be an object.')
  const consumer = text(body, 'consumer')
  const tool = text(body, 'tool')
  if (consumer === undefined) throw new ParameterFault('consumer is required.')
  if (action === 'tools.call' && tool === undefined) throw new ParameterFault('tool is required.')
  return {
    tool: action === 'tools.call' ? tool : undefined,
    arguments: args,
    access,
    tenant: text(body, 'tenant'),
    consumer,
    subject: text(body, 'subject'),
    roles: texts(body, 'roles'),
    scopes: texts(body, 'scopes')?.map(scope => scope.replace(/^platform:/, '')),
  }
}

function text(body: { readonly [name: string]: unknown }, name: string): string | undefined {
  const value = body[name]
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'string' || value === '' || value.length > MAX_TEXT)
    throw new ParameterFault(`${name} must be a string of 1 to ${MAX_TEXT} characters.`)
  return value
}

function texts(body: { readonly [name: string]: unknown }, name: string): readonly string[] | undefined {
  const value = body[name]
  if (value === undefined || value === null) return undefined
  const isList = Array.isArray(value) && value.length <= MAX_LIST
  if (!isList || !value.every(one => typeof one === 'string' && one.length <= MAX_TEXT))
    throw new ParameterFault(
      `${name} must be a list of at most ${MAX_LIST} strings, each of at most ${MAX_TEXT} characters.`,
    )
  return value
}
