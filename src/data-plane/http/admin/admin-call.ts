/** Serves a request of the admin API: the pipeline before its endpoint, its errors, and bodies without meaning. */

import { Cancellation } from '../../../base/cancellation.ts'
import type { Principal } from '../../../model/principal.ts'
import { refuse } from '../../../model/refusal.ts'
import { NOT_STORED } from '../../../net/server/pages.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import type { Operation } from '../../pipeline/operation.ts'
import type { Snapshot } from '../../snapshot/snapshot.ts'
import type { Call } from '../call.ts'
import { ParameterFault } from '../call-parameters.ts'
import { type GatewayParts, runCall } from '../gateway.ts'
import type { RestTools } from '../rest.ts'

export type AdminResource = Extract<Operation, { action: 'admin' }>['resource']

export type Respond = (principal: Principal, exchange: Exchange) => Promise<void>

/** @param respond runs only when the policy allows the caller to use the resource; a ParameterFault that it throws becomes 400, another error `internal_error` and a line of the log */
export async function serveAdmin(
  gateway: GatewayParts,
  rest: RestTools,
  call: Call,
  snapshot: Snapshot,
  resource: AdminResource,
  respond: Respond,
): Promise<void> {
  call.notices = NOT_STORED
  const operation = { action: 'admin', resource } as const
  const { final, exchange } = await runCall(gateway, snapshot, call, 'admin', operation, new Cancellation())
  if (final?.kind === 'refusal') return rest.refuse(call, final)
  try {
    await respond(exchange.principal!, exchange)
  } catch (error) {
    if (error instanceof ParameterFault)
      return rest.refuse(call, refuse('invalid_request', { message: error.message }))
    const request = { resource, request_id: call.requestId }
    gateway.log.error({ err: error, ...request }, 'an admin request failed')
    rest.refuse(call, refuse('internal_error'))
  }
}

/** Consumes the body of a request whose body has no meaning. */
export function ignoreBody({ maxBodyBytes }: GatewayParts, { request }: Call): void {
  request.readBody(
    maxBodyBytes,
    () => {},
    () => {},
  )
}
