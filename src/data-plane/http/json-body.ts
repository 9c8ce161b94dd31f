/** Reads a bounded JSON body and passes on its value or a refusal. */

import { nextTurn, runInSlices } from '../../base/async/slices.ts'
import { EXACT_COST_FACTOR, lookingForExact, readJson as parseJson } from '../../base/json/exact-number.ts'
import { loneSurrogateAt } from '../../base/json/lone-surrogate.ts'
import { readLongJson } from '../../base/json/read-long-json.ts'
import { parseCost } from '../../base/parse-cost.ts'
import { type Refusal, refuse } from '../../model/refusal.ts'
import type { Call } from './call.ts'

/** Bytes. Whatever a shorter body holds, it is parsed within a few milliseconds. */
const MAX_UNSEEN_BYTES = 64 * 1024
/** Nanoseconds of the bound; 1 MiB of ordinary records is below it. */
const MAX_PARSE_NS = 13_000_000
const decoder = new TextDecoder('utf-8', { fatal: true })

type JsonBody = { readonly kind: 'json'; readonly value: unknown; readonly bytes: number } | Refusal

const TOO_COSTLY = refuse('payload_too_large', {
  message: 'The body has too many members with different names. Send fewer members in one call.',
})

const TOO_COSTLY_EXACT = refuse('payload_too_large', {
  message:
    'A body of this size must not contain numbers with more than 15 digits or a three-digit exponent. Send these numbers as strings, or send a smaller body.',
})

const TOO_DEEP = refuse('payload_too_large', {
  message: 'The body is nested too deeply. Send values with fewer levels.',
})

export const OVER_BUDGET = refuse('memory_limit', { retryAfterSecs: 1 })

const NOT_JSON = refuse('invalid_request', { message: 'The body is not valid JSON in UTF-8.' })

/** `application/json` or `+json`, with or without parameters; an absent type is taken for it. */
function isJsonType(contentType: string): boolean {
  if (contentType === 'application/json') return true
  const type = contentType.split(';')[0]!.trim().toLowerCase()
  return type === '' || type === 'application/json' || type.endsWith('+json')
}

/**
 * Must be called synchronously in the handler.
 * @param done gets the value (undefined for an empty body) or `payload_too_large`, `memory_limit`, `unsupported_media_type`, `invalid_request`.
 */
export function readJson(call: Call, maxBytes: number, done: (body: JsonBody) => void): void {
  const acceptable = isJsonType(call.request.header('content-type'))
  call.request.readBody(
    maxBytes,
    bytes => {
      if (!acceptable) done(refuse('unsupported_media_type'))
      else if (bytes.byteLength <= MAX_UNSEEN_BYTES) done(parse(bytes))
      else void parseLong(bytes).then(done)
    },
    why =>
      done(
        why === 'over_budget'
          ? OVER_BUDGET
          : refuse('payload_too_large', { message: `The body is larger than ${maxBytes} bytes.` }),
      ),
    call,
  )
}

function parse(bytes: Uint8Array): JsonBody {
  if (bytes.byteLength === 0) return { kind: 'json', value: undefined, bytes: 0 }
  try {
    const text = decoder.decode(bytes)
    const value = parseJson(text)
    return bodyOf(value, loneSurrogateAt(text, value), bytes.byteLength)
  } catch {
    return NOT_JSON
  }
}

/** Never rejects. Other calls come between its steps. */
async function parseLong(bytes: Uint8Array): Promise<JsonBody> {
  const costNs = parseCost(bytes, MAX_PARSE_NS)
  if (costNs > MAX_PARSE_NS) return TOO_COSTLY
  await nextTurn()
  try {
    const text = decoder.decode(bytes)
    if (costNs * EXACT_COST_FACTOR > MAX_PARSE_NS) {
      await nextTurn()
      if (await runInSlices(lookingForExact(text))) return TOO_COSTLY_EXACT
    }
    await nextTurn()
    const { value, loneSurrogateAt: lone } = await runInSlices(readLongJson(text))
    await nextTurn()
    return bodyOf(value, lone, bytes.byteLength)
  } catch (error) {
    return error instanceof RangeError ? TOO_DEEP : NOT_JSON
  }
}

function bodyOf(value: unknown, lone: string | undefined, bytes: number): JsonBody {
  if (lone === undefined) return { kind: 'json', value, bytes }
  const message = `${lone === '' ? 'The body' : lone} contains half of a surrogate pair, which UTF-8 cannot encode. Send the whole character.`
  return refuse('invalid_request', { message })
}
