/** Policy endpoints for administrators: status, search and explanation of decisions, promotion of the candidate. `admin-call.ts` runs the pipeline first. */
import type { Principal } from '../../../model/principal.ts'
import { type DecisionCursor, type DecisionSearch, readDecisionCursor } from '../../../policy/log/search.ts'
import type { Snapshot } from '../../snapshot/snapshot.ts'
import type { Call } from '../call.ts'
import { ParameterFault, Parameters, tenantSeenBy } from '../call-parameters.ts'
import type { GatewayParts } from '../gateway.ts'
import type { RestTools } from '../rest.ts'
import { adminAction, type RecordAdminAction } from './admin-audit.ts'
import { ignoreBody, serveAdmin } from './admin-call.ts'

/** Status and operations of the policy; objects are JSON for operators, without secrets. */
export interface PolicyOperations {
  status(): Promise<object>
  /** The newest first. @param cursor where the page before ended */
  search(query: DecisionSearch, limit: number, cursor: DecisionCursor | undefined): Promise<object>
  /** undefined when no such decision is kept. */
  explain(id: string): Promise<object | undefined>
  /** Makes the candidate the live bundle. @returns why it was not done; undefined when it was */
  promote(): Promise<string | undefined>
}

const NO_DECISIONS = { decisions: [], next_cursor: null }

/** Ids are UUIDs. */
const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

export class PolicyAdmin {
  readonly #gateway: GatewayParts
  readonly #operations: PolicyOperations
  readonly #recordAction: RecordAdminAction
  readonly #rest: RestTools

  constructor(
    gateway: GatewayParts,
    operations: PolicyOperations,
    recordAction: RecordAdminAction,
    rest: RestTools,
  ) {
    this.#recordAction = recordAction
    this.#gateway = gateway
    this.#operations = operations
    this.#rest = rest
  }

  /** GET /admin/policy */
  status(call: Call, snapshot: Snapshot): void {
    this.#serve(call, snapshot, async () => call.respond(200, await this.#operations.status()))
  }

  /** GET /admin/policy/decisions/{id}: what was asked (masked), which rules fired, which scopes would have been enough. */
  decision(call: Call, snapshot: Snapshot, id: string): void {
    this.#serve(call, snapshot, async () => {
      const found = ID.test(id) ? await this.#operations.explain(id) : undefined
      if (found !== undefined) return call.respond(200, found)
      const message =
        'The decision is not in the decision log. The decision log contains all denials and DECISION_LOG_PERCENT percent of the allowed decisions. Log rotation removes old decisions.'
      call.respond(404, { error: 'not_found', message, request_id: call.requestId })
    })
  }

  /** GET /admin/policy/decisions: the newest first. */
  search(call: Call, snapshot: Snapshot): void {
    void serveAdmin(this.#gateway, this.#rest, call, snapshot, 'decisions', async caller => {
      const parameters = new Parameters(call.request.query)
      const allow = parameters.text('allow')
      if (allow !== undefined && allow !== 'true' && allow !== 'false')
        throw new ParameterFault('allow must be true or false.')
      const query: DecisionSearch = {
        tenant: tenantSeenBy(caller) ?? parameters.text('tenant'),
        consumer: parameters.text('consumer'),
        resource: parameters.text('tool'),
        action: parameters.text('action'),
        code: parameters.text('code'),
        allow: allow === undefined ? undefined : allow === 'true',
        sinceMs: parameters.time('since'),
        untilMs: parameters.time('until'),
      }
      const asked = parameters.text('tenant')
      if (asked !== undefined && asked !== query.tenant) return call.respond(200, NO_DECISIONS)
      const [limit, cursor] = [parameters.limit(), cursorOf(parameters.cursor())]
      call.respond(200, await this.#operations.search(query, limit, cursor))
    })
  }

  /** POST /admin/policy/promote */
  promote(call: Call, snapshot: Snapshot): void {
    ignoreBody(this.#gateway, call)
    this.#serve(call, snapshot, async caller => {
      const resource = { type: 'policy', id: '*' }
      const before = { revision: snapshot.policy.revision }
      await this.#recordAction(adminAction(call, caller, 'admin.policy.promote', resource, before))
      const reason = await this.#operations.promote()
      if (reason === undefined) call.respond(200, await this.#operations.status())
      else call.respond(409, { error: 'not_promoted', message: reason, request_id: call.requestId })
    })
  }

  #serve(call: Call, snapshot: Snapshot, respond: (caller: Principal) => Promise<void>): void {
    void serveAdmin(this.#gateway, this.#rest, call, snapshot, 'policy', respond)
  }
}

/** @throws ParameterFault */
function cursorOf(text: string | undefined): DecisionCursor | undefined {
  if (text === undefined) return undefined
  const cursor = readDecisionCursor(text)
  if (cursor === undefined) throw new ParameterFault('cursor was not issued by this gateway.')
  return cursor
}
