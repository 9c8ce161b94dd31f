/** REST access to tools (list and call), and refusals in the REST form. */

import { andThen, continueWith, type MaybePending } from '../../base/and-then.ts'
import { runInSlices } from '../../base/async/slices.ts'
import { Cancellation } from '../../base/cancellation.ts'
import { countEscaped, escapedPieces } from '../../base/json/escapes.ts'
import { isObject } from '../../base/json/is-object.ts'
import { isLongJson, writeLongJson } from '../../base/json/long-json.ts'
import { namedMembers } from '../../base/json/named-members.ts'
import { REFUSALS, type Refusal, refuse } from '../../model/refusal.ts'
import { lengthOf } from '../../net/server/pieces.ts'
import { offeredTools } from '../listing/offered-tools.ts'
import { listTail, resultView, toolsForm } from '../listing/tool-view.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import { offerOf } from '../pipeline/offer.ts'
import {
  type CallOperation,
  type Operation,
  type OptimizationLevel,
  UNREAD_CALL,
} from '../pipeline/operation.ts'
import { EVERYTHING, type Selection } from '../pipeline/selection.ts'
import { TextReply } from '../pipeline/text-reply.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import type { Call } from './call.ts'
import { type EarlyRefusal, refuseEarly } from './early-refusal.ts'
import { callHeaders, challengeContext, type Ended, type GatewayParts, runCall } from './gateway.ts'
import { OVER_BUDGET, readJson } from './json-body.ts'
import { readLevel, UNKNOWN_LEVEL_MESSAGE } from './optimization-level.ts'
import { refusalHeaders, restBody } from './refusal-body.ts'

const UNKNOWN_LEVEL = refuse('invalid_request', { message: UNKNOWN_LEVEL_MESSAGE })

/** Programs have no use for the search tools. */
const IN_FULL: Selection = Object.freeze({ ...EVERYTHING, tools: 'list', key: 'rest' })

const LIST = { action: 'tools.list' } as const

export class RestTools {
  readonly #parts: GatewayParts

  constructor(parts: GatewayParts) {
    this.#parts = parts
  }

  /** POST /mcp/v1/tools, POST /mcp/tools/list: `{tools: [Tool]}`. */
  list(call: Call, snapshot: Snapshot): void {
    const early = this.#refuseEarly(call, snapshot, LIST)
    if (early === undefined) return
    readJson(call, this.#parts.maxBodyBytes, body => {
      if (!early.proceed()) return
      if (body.kind === 'refusal') return this.refuse(call, body)
      const ended = this.#run(call, snapshot, LIST)
      void continueWith(ended, value => this.#respondToList(call, value))
    })
  }

  /** POST /mcp/v1/tools/invoke, POST /mcp/tools/call: `{name, arguments}` → Tool result. */
  call(call: Call, snapshot: Snapshot): void {
    const early = this.#refuseEarly(call, snapshot, UNREAD_CALL)
    if (early === undefined) return
    readJson(call, this.#parts.maxBodyBytes, body => {
      if (!early.proceed()) return
      if (body.kind === 'refusal') return this.refuse(call, body)
      const optimization = readLevel(call.request.header('x-token-optimization'))
      if (optimization === undefined) return this.refuse(call, UNKNOWN_LEVEL)
      const operation = readCall(body.value, optimization)
      if ('kind' in operation) return this.refuse(call, operation)
      const ended = this.#run(call, snapshot, operation)
      void continueWith(ended, value => this.#respondToCall(call, value))
    })
  }

  refuse(call: Call, refusal: Refusal, headers: readonly string[] = []): void {
    const own = refusalHeaders(refusal, challengeContext(this.#parts, call.request.path))
    call.respond(refusal.row.status, restBody(refusal, call.requestId), [...own, ...headers])
  }

  #respondToList(call: Call, { exchange, final }: Ended): void {
    if (final?.kind === 'refusal') return this.refuse(call, final)
    const headers = callHeaders(exchange)
    const offer = offerOf(exchange.snapshot, exchange, IN_FULL)
    void andThen(toolsForm(offeredTools(exchange.listing!, offer), 'rest'), form => {
      if ('pieces' in form) {
        void call.respondInPieces(200, ['{"tools":', ...form.pieces, '}'], headers)
        return
      }
      const tail = listTail(form, '}')
      if (tail === undefined) call.respond(200, `{"tools":${form.json}}`, headers)
      else call.respondToJoined(200, '{"tools":', tail, headers)
    })
  }

  #respondToCall(call: Call, { exchange, final }: Ended): void {
    if (final === undefined || final.kind === 'refusal')
      return this.refuse(call, final ?? refuse('internal_error'))
    const headers = callHeaders(exchange)
    const unread = final instanceof TextReply && final.isUnread ? final.bytes : undefined
    if (unread !== undefined) return void respondUnread(call, unread, headers)
    const result = resultView((exchange.optimized ?? final).result, 'rest')
    if (final.failure === undefined) return this.#send(call, exchange, 200, result, headers)
    const row = REFUSALS[final.failure]
    const message = final.failure === 'tool_execution_failed' ? row.message : textOf(result)
    const body = { error: row.error, message, request_id: call.requestId, ...result }
    this.#send(call, exchange, row.status, body, headers)
  }

  #send(call: Call, exchange: Exchange, status: number, body: object, headers: readonly string[]): void {
    if (!isLongJson(body)) return call.respond(status, body, headers)
    void writeLongJson(body).then(pieces => {
      // what a backend sent was asked for when it arrived
      if (exchange.cacheHit && !call.hold(exchange.party).take(lengthOf(pieces)))
        return this.refuse(call, OVER_BUDGET)
      return call.respondInPieces(status, pieces, headers)
    })
  }

  #refuseEarly(call: Call, snapshot: Snapshot, operation: Operation): EarlyRefusal | undefined {
    return refuseEarly(this.#parts, call, snapshot, 'rest', operation, refusal => this.refuse(call, refusal))
  }

  #run(call: Call, snapshot: Snapshot, operation: Operation): MaybePending<Ended> {
    const cancellation = new Cancellation()
    call.response.onAbort(() => cancellation.cancel())
    return runCall(this.#parts, snapshot, call, 'rest', operation, cancellation)
  }
}

function textOf(result: { readonly content: readonly { readonly type: string }[] }): string {
  const first = result.content[0]
  return first !== undefined && 'text' in first && typeof first.text === 'string' ? first.text : ''
}

function readCall(value: unknown, optimization: OptimizationLevel): CallOperation | Refusal {
  if (!isObject(value)) {
    return refuse('invalid_request', {
      message: 'The body must be an object with the field "name" and, optionally, the field "arguments".',
    })
  }
  const { name } = value
  if (typeof name !== 'string' || name === '')
    return refuse('invalid_request', { message: 'name must be a tool name (non-empty string).' })
  const args = namedMembers(value.arguments)
  if (args === undefined) return refuse('invalid_arguments', { message: 'arguments must be an object.' })
  return {
    action: 'tools.call',
    tool: name,
    arguments: args,
    optimization,
  }
}

const BEFORE_TEXT = '{"content":[{"type":"text","text":"'
const AFTER_TEXT = '"}],"isError":false}'

/** Sends what `#send` sends of a result with this text alone. @param text for which `isPlainUtf8` holds */
async function respondUnread(call: Call, text: Uint8Array, headers: readonly string[]): Promise<void> {
  const length = BEFORE_TEXT.length + (await runInSlices(countEscaped(text))) + AFTER_TEXT.length
  await call.respondInPieces(200, textPieces(text), headers, length)
}

function* textPieces(text: Uint8Array): Generator<string | Uint8Array, void> {
  yield BEFORE_TEXT
  yield* escapedPieces(text)
  yield AFTER_TEXT
}
