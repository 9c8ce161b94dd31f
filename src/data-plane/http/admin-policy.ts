/** What operators ask about the policy: which one serves, why a decision came out as it did, and to promote a candidate. Each runs through the pipeline as action `admin`. */
import { Cancellation } from '../../shared/call/cancellation.ts'
import { refuse } from '../../shared/call/refusal.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import type { Call } from './call.ts'
import { type Ended, type GatewayParts, run } from './gateway.ts'
import type { RestTools } from './rest.ts'

/** What the deployment knows about its policy; every object is JSON for operators, without secrets. */
export interface PolicyOperations {
  status(): Promise<object>
  /** undefined when no such decision is kept. */
  explain(id: string): Promise<object | undefined>
  /** Makes the candidate the live bundle. @returns why it was not done; undefined when it was */
  promote(): Promise<string | undefined>
}

/** Ids are UUIDs; anything else is not worth a search. */
const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

export class PolicyAdmin {
  readonly #gateway: GatewayParts
  readonly #operations: PolicyOperations
  readonly #rest: RestTools

  constructor(gateway: GatewayParts, operations: PolicyOperations, rest: RestTools) {
    this.#gateway = gateway
    this.#operations = operations
    this.#rest = rest
  }

  /** GET /admin/policy */
  status(call: Call, snapshot: Snapshot): void {
    this.#authorized(call, snapshot, async () => call.respond(200, await this.#operations.status()))
  }

  /** GET /admin/policy/decisions/{id}: what was asked (masked), which rules fired, which scopes would have been enough. */
  decision(call: Call, snapshot: Snapshot, id: string): void {
    this.#authorized(call, snapshot, async () => {
      const found = ID.test(id) ? await this.#operations.explain(id) : undefined
      if (found !== undefined) return call.respond(200, found)
      const message =
        'No such decision is kept. Denials are, until the log is rotated; allowed ones as far as the settings ask for them.'
      call.respond(404, { error: 'not_found', message, request_id: call.requestId })
    })
  }

  /** POST /admin/policy/promote */
  promote(call: Call, snapshot: Snapshot): void {
    call.request.readBody(
      this.#gateway.maxBodyBytes,
      () => {},
      () => {},
    )
    this.#authorized(call, snapshot, async () => {
      const reason = await this.#operations.promote()
      if (reason === undefined) call.respond(200, await this.#operations.status())
      else call.respond(409, { error: 'not_promoted', message: reason, request_id: call.requestId })
    })
  }

  #authorized(call: Call, snapshot: Snapshot, then: () => Promise<void>): void {
    const finish = async ({ final }: Ended): Promise<void> => {
      if (final?.kind === 'refusal') return this.#rest.refuse(call, final)
      try {
        await then()
      } catch {
        this.#rest.refuse(call, refuse('internal_error'))
      }
    }
    const operation = { action: 'admin', resource: 'policy' } as const
    const ended = run(this.#gateway, snapshot, call, 'admin', operation, new Cancellation())
    void Promise.resolve(ended).then(finish)
  }
}
