/** The MCP endpoint, `/mcp` and `/mcp/sse` alike: the decision ladder of POST bodies. Methods are `dispatch.ts`. */
import { Cancellation } from '../../pipeline/cancellation.ts'
import type { Snapshot } from '../../pipeline/exchange.ts'
import type { Call } from '../call.ts'
import type { GatewayParts } from '../gateway.ts'
import { readJson } from '../json-body.ts'
import { Dispatcher, type RpcAnswer } from './dispatch.ts'
import { errorMessage, INVALID_REQUEST, PARSE_ERROR, type RpcMessage, readMessage } from './message.ts'
import { ASSUMED_VERSION, isLegacyVersion, LEGACY_VERSIONS, type ProtocolVersion } from './versions.ts'

/** The official server's bound for batches. */
const MAX_BATCH = 100

export class McpEndpoint {
  readonly #parts: GatewayParts
  readonly #dispatcher: Dispatcher

  constructor(parts: GatewayParts) {
    this.#parts = parts
    this.#dispatcher = new Dispatcher(parts)
  }

  /** POST: one message, or a batch where the version has batches. */
  post(call: Call, snapshot: Snapshot): void {
    readJson(call.request, this.#parts.maxBodyBytes, body => {
      if (body.kind === 'refusal') {
        const code = body.reason === 'invalid_request' ? PARSE_ERROR : body.row.rpcCode
        return call.answer(body.row.status, errorMessage(null, { code, message: body.message }))
      }
      const header = call.request.header('mcp-protocol-version')
      if (Array.isArray(body.value)) return this.#batch(call, snapshot, header, body.value)
      this.#single(call, snapshot, header, readMessage(body.value))
    })
  }

  #single(call: Call, snapshot: Snapshot, header: string, message: RpcMessage): void {
    if (message.kind === 'invalid') return badRequest(call, message.id, message.reason)
    if (
      header !== '' &&
      !isLegacyVersion(header) &&
      !(message.kind === 'request' && message.method === 'initialize')
    ) {
      return badRequest(
        call,
        null,
        `MCP-Protocol-Version "${header.slice(0, 32)}" is not served; use one of ${LEGACY_VERSIONS.join(', ')}.`,
      )
    }
    if (message.kind !== 'request') return call.answer(202, undefined)
    const answer = this.#dispatcher.dispatch(message, this.#conversation(call, snapshot, header))
    if (answer instanceof Promise) void answer.then(value => send(call, value))
    else send(call, answer)
  }

  #batch(call: Call, snapshot: Snapshot, header: string, items: readonly unknown[]): void {
    if (items.length === 0) return badRequest(call, null, 'A batch must not be empty.')
    if (items.length > MAX_BATCH)
      return badRequest(call, null, `A batch holds at most ${MAX_BATCH} messages.`)
    if (header !== '' && header !== '2025-03-26')
      return badRequest(call, null, 'Batches exist only in protocol version 2025-03-26.')
    const messages = items.map(readMessage)
    if (messages.some(message => message.kind === 'request' && message.method === 'initialize')) {
      return badRequest(call, null, 'initialize must not be part of a batch.')
    }
    const conversation = this.#conversation(call, snapshot, header)
    const answers: (RpcAnswer | Promise<RpcAnswer>)[] = []
    for (const message of messages) {
      if (message.kind === 'request') answers.push(this.#dispatcher.dispatch(message, conversation))
      else if (message.kind === 'invalid') {
        answers.push({
          status: 200,
          headers: [],
          body: errorMessage(message.id, { code: INVALID_REQUEST, message: message.reason }),
        })
      }
    }
    if (answers.length === 0) return call.answer(202, undefined)
    void Promise.all(answers).then(all => call.answer(200, `[${all.map(answer => answer.body).join(',')}]`))
  }

  #conversation(call: Call, snapshot: Snapshot, header: string) {
    const cancellation = new Cancellation()
    call.response.onAbort(() => cancellation.cancel())
    const version: ProtocolVersion = isLegacyVersion(header) ? header : ASSUMED_VERSION
    return { call, snapshot, version, cancellation }
  }
}

function send(call: Call, answer: RpcAnswer): void {
  call.answer(answer.status, answer.body, answer.headers)
}

function badRequest(call: Call, id: string | number | null, reason: string): void {
  call.answer(400, errorMessage(id, { code: INVALID_REQUEST, message: reason }))
}
