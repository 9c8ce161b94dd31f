/** The request and response types of handlers, pages of lists, and the reading of bodies. `operations.ts` checks bodies against the document. */
import type { IncomingMessage } from 'node:http'
import { ShopProblem } from './problem.ts'

const MAX_BODY_BYTES = 64 * 1024

/** A request whose query and body fit the document; a handler casts them to the types of its operation. */
export interface ShopRequest {
  readonly params: Readonly<Record<string, string>>
  readonly query: unknown
  /** `{}` where a body is optional and absent. */
  readonly body: unknown
  readonly ifMatch: string | undefined
  /** Aborted when the caller disconnects. */
  readonly signal: AbortSignal
}

export interface ShopResponse {
  readonly status: number
  /** Sent as JSON; absent for 204. */
  readonly body?: unknown
  readonly headers?: { readonly [name: string]: string }
  /** Sent line by line as NDJSON instead of `body`. */
  readonly lines?: AsyncIterable<object>
}

/** By `operationId` of the document. */
export type Handlers = Readonly<Record<string, (request: ShopRequest) => ShopResponse>>

export interface ShopPaging {
  readonly page?: number
  readonly limit?: number
}

export function shopPageOf(all: readonly unknown[], { page = 1, limit = 20 }: ShopPaging) {
  return { items: all.slice((page - 1) * limit, page * limit), total: all.length, page, limit }
}

/** undefined without a body. @throws Problem 413, 415 or 400 (not JSON). */
export async function readShopBody(message: IncomingMessage): Promise<unknown> {
  const declared = Number(message.headers['content-length'] ?? 0)
  if (declared > MAX_BODY_BYTES) throw tooLarge()
  const parts: Buffer[] = []
  let size = 0
  for await (const part of message as AsyncIterable<Buffer>) {
    size += part.length
    if (size > MAX_BODY_BYTES) throw tooLarge()
    parts.push(part)
  }
  if (size === 0) return undefined
  const type = message.headers['content-type']?.split(';')[0]?.trim().toLowerCase()
  if (type !== 'application/json') {
    throw new ShopProblem(415, 'media-type', 'The media type is not supported.', 'Send application/json.')
  }
  try {
    return JSON.parse(Buffer.concat(parts).toString('utf8'))
  } catch {
    throw new ShopProblem(400, 'not-json', 'The body is not JSON.', 'Send one JSON value, encoded as UTF-8.')
  }
}

function tooLarge(): ShopProblem {
  const headers = { connection: 'close' } // what is left of the body is not read
  const detail = `Send at most ${MAX_BODY_BYTES} bytes.`
  return new ShopProblem(413, 'too-large', 'The body is too large.', detail, { headers })
}
