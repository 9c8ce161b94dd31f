/** Reads the JSON body of a request up to a size limit, and reports text that is not valid. */
import { readJson } from '../../../base/json/exact-number.ts'
import { loneSurrogateAt } from '../../../base/json/lone-surrogate.ts'
import { BodyTooLarge } from '../../../net/server/web.ts'
import { type FieldFault, Problem } from './problem.ts'

export type JsonBody =
  | { readonly kind: 'json'; readonly value: unknown; readonly text: string }
  | { readonly kind: 'none'; readonly text: '' }
  | { readonly kind: 'invalid'; readonly faults: readonly FieldFault[] }

/** RFC 9110 §8.3; `application/merge-patch+json` and the like are JSON too. */
const JSON_TYPE = /^application\/([\w.+-]+\+)?json\s*(;|$)/i

/** @throws Problem payload_too_large, unsupported_media_type */
export async function readJsonBody(request: Request, maxBytes: number): Promise<JsonBody> {
  const tooLarge = () =>
    new Problem('payload_too_large', `The request body is larger than ${maxBytes} bytes.`)
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) throw tooLarge()
  if (request.body === null) return { kind: 'none', text: '' }
  const chunks: Uint8Array[] = []
  let size = 0
  try {
    for await (const chunk of request.body) {
      size += chunk.byteLength
      if (size > maxBytes) throw tooLarge()
      chunks.push(chunk)
    }
  } catch (error) {
    throw error instanceof BodyTooLarge ? tooLarge() : error
  }
  if (size === 0) return { kind: 'none', text: '' }
  if (!JSON_TYPE.test(request.headers.get('content-type') ?? '')) {
    throw new Problem(
      'unsupported_media_type',
      'The Content-Type of the request body is not JSON. Send JSON with the Content-Type application/json.',
    )
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))
    const value = readJson(text)
    const lone = loneSurrogateAt(text, value)
    if (lone === undefined) return { kind: 'json', value, text }
    const field = lone === '' ? 'body' : lone.slice(1).replaceAll('/', '.')
    const message = 'contains half of a surrogate pair, which UTF-8 cannot encode. Send the whole character.'
    return { kind: 'invalid', faults: [{ field, message }] }
  } catch (error) {
    const reason = error instanceof SyntaxError ? 'is not valid JSON.' : 'is not valid UTF-8.'
    return { kind: 'invalid', faults: [{ field: 'body', message: reason }] }
  }
}
