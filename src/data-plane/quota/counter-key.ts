/**
 * The names of callers' counters, their parts, and the digests that replace parts of a long name, so that a counter is listed and reset under
 * the name that it is counted under.
 */
import { createHash } from 'node:crypto'
import { MAX_NAME_BYTES } from './quota.ts'

/** Three such parts and two slashes are at most `MAX_NAME_BYTES`. */
const MAX_PART_BYTES = 40
const DIGEST = 'sha256:'
const DIGEST_CHARACTERS = 32

export interface CounterParts {
  readonly tenant: string
  readonly consumer: string
  /** API or product. */
  readonly target: string | undefined
}

/** One counter per tenant and consumer (or user), and per API or product where a subscription to it applies (docs/reference/http.md, Quotas per consumer). */
export function counterKey(tenant: string, consumer: string, target?: string): string {
  // a client may be named by the address of its document
  const parts = [escapePart(tenant), escapePart(consumer)]
  if (target !== undefined) parts.push(target)
  const isLong = !fits(parts.join('/'))
  return parts
    .map(part =>
      isReserved(part) || (isLong && Buffer.byteLength(part) > MAX_PART_BYTES) ? digestOf(part) : part,
    )
    .join('/')
}

/** As the key has them: with `%2F` for a slash, and a digest for a part that was too long. */
export function partsOf(key: string): CounterParts {
  const [tenant = '', consumer = key, target] = key.split('/')
  return { tenant, consumer, target }
}

/** True for a part that `counterKey` may write for this name. */
export function isPartOf(part: string, name: string): boolean {
  const known = escapePart(name)
  return (part === known && !isReserved(known)) || part === digestOf(known)
}

/** True for the consumer of a listed counter, and for the consumer with this name. */
export function isConsumer(part: string, id: string): boolean {
  return part === id || (!isReserved(id) && isPartOf(part, id))
}

/** The name that a part stands for; undefined for a digest. */
export function nameOfPart(part: string): string | undefined {
  return isReserved(part) ? undefined : part.replaceAll('%2F', '/')
}

/** A text, or its digest when stores would have to shorten the name that begins with `prefix`. */
export function boundedName(prefix: string, text: string): string {
  const name = prefix + text
  return fits(name) ? name : prefix + digestOf(text)
}

function escapePart(name: string): string {
  return name.replaceAll('/', '%2F')
}

/** A name with this beginning could pass for a digest, so it is always replaced by one. */
function isReserved(part: string): boolean {
  return part.startsWith(DIGEST)
}

function digestOf(part: string): string {
  return DIGEST + createHash('sha256').update(part).digest('hex').slice(0, DIGEST_CHARACTERS)
}

function fits(name: string): boolean {
  // a UTF-16 unit has at most 3 bytes
  return name.length * 3 <= MAX_NAME_BYTES || Buffer.byteLength(name) <= MAX_NAME_BYTES
}
