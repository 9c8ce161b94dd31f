/** The response cache of proxied APIs: reuse, revalidation, keeping and invalidation (RFC 9111). `stored-responses.ts` holds the responses. */
import { createHash } from 'node:crypto'
import type { CacheRule } from '../../../model/schema/cache.ts'
import type { CircuitOpen } from '../../../net/egress/circuit.ts'
import type { EgressFailure, EgressHeaders, EgressStreamResponse } from '../../../net/egress/egress.ts'
import type { UpstreamRequest } from '../../../net/egress/upstreams.ts'
import { type ByteBudget, mayGrow } from '../../../net/held-bytes.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import type { CompiledApi } from '../../snapshot/snapshot.ts'
import { hasTag, OF_THE_CALL, type Storable, storable, wishesOf } from './freshness.ts'
import { hashText } from './hash-text.ts'
import { type StoredResponse, StoredResponses } from './stored-responses.ts'

type Outcome = EgressStreamResponse | EgressFailure | CircuitOpen
type Send = (request: UpstreamRequest) => Promise<Outcome>

/** For one call. */
interface Cached {
  readonly api: CompiledApi
  readonly rule: CacheRule
  /** For the request of the caller. */
  readonly header: (name: string) => string
  readonly exchange: Exchange
  /** Address at the upstream. */
  readonly key: string
  readonly variant: string
  /** For `Changes`, when the upstream was asked. */
  readonly changes: number
}

const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])
const CONDITIONS: ReadonlySet<string> = new Set([
  'if-none-match',
  'if-modified-since',
  'if-match',
  'if-unmodified-since',
  'if-range',
])
/** Describe the stored body, which a 304 does not change (§3.2). */
const OF_THE_BODY: ReadonlySet<string> = new Set([
  'content-length',
  'content-encoding',
  'content-range',
  'age',
])

export class ApiCache {
  readonly counts = { hits: 0, misses: 0, revalidated: 0 }
  readonly #stored = new StoredResponses()
  readonly #changes = new Changes()
  readonly #nowMs: () => number
  #served: ReadonlySet<CompiledApi> = new Set()

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  get bytes(): number {
    return this.#stored.bytes
  }

  retain(apis: readonly CompiledApi[]): void {
    this.#served = new Set(apis)
    this.#stored.retain(this.#served)
  }

  clear(): number {
    this.#changes.addAll()
    return this.#stored.clear()
  }

  /** @param send asks the upstream; called at most once */
  async stream(
    at: Pick<Cached, 'api' | 'header' | 'exchange'>,
    given: UpstreamRequest,
    send: Send,
  ): Promise<Outcome> {
    const { api, header } = at
    const { url: key } = given
    if (given.method !== 'GET') return this.#sendChange(api, key, given, send)
    const rule = api.traffic!.cache!
    const caller = callerOf(rule, at.exchange)
    const wishes = wishesOf(header)
    if (wishes.bypasses || caller === undefined || given.body !== undefined) return send(given)
    // conditions are about what the client has, not about what is kept for all
    const request = { ...given, headers: withoutConditions(given.headers) }
    const variant = variantOf(caller, request.headers)
    const cached: Cached = { ...at, rule, key, variant, changes: this.#changes.count }
    const known = this.#stored.find(api, key, variant)
    if (known === undefined) return this.#keepResponse(cached, await this.#missed(request, send))
    const age = this.#ageOf(known)
    const leftSecs = known.freshSecs - (age - known.ageSecs)
    if (!wishes.revalidates && leftSecs > wishes.minFreshSecs && age <= wishes.maxAgeSecs)
      return this.#hit(cached, known, leftSecs)
    const tag = headerOf(known, 'etag')
    const modified = headerOf(known, 'last-modified')
    if (tag === '' && modified === '') return this.#keepResponse(cached, await this.#missed(request, send))
    const validator = tag === '' ? ['if-modified-since', modified] : ['if-none-match', tag]
    const headers = [...request.headers, ...validator]
    return this.#confirmStored(cached, known, await this.#missed({ ...request, headers }, send))
  }

  #missed(request: UpstreamRequest, send: Send): Promise<Outcome> {
    this.counts.misses++
    return send(request)
  }

  /** §4.4: what a change may have made wrong is not used again. */
  async #sendChange(api: CompiledApi, key: string, request: UpstreamRequest, send: Send): Promise<Outcome> {
    const outcome = await send(request)
    const isDone = outcome.kind === 'response' && outcome.status >= 200 && outcome.status < 400
    if (isDone && !SAFE.has(request.method)) {
      this.#changes.add(api, key)
      this.#stored.invalidate(api, key)
    }
    return outcome
  }

  #hit({ header, exchange }: Cached, known: StoredResponse, leftSecs: number): EgressStreamResponse {
    this.counts.hits++
    exchange.cacheHit = true
    const status = `toolgate; hit; ttl=${Math.floor(leftSecs)}`
    return responseOf(known, header, this.#ageOf(known), status)
  }

  /** §4.3.4: the upstream says that the stored response is still right, or sends another. */
  #confirmStored(cached: Cached, known: StoredResponse, outcome: Outcome): Outcome {
    if (outcome.kind !== 'response' || outcome.status !== 304) return this.#keepResponse(cached, outcome)
    outcome.body.destroy()
    this.counts.revalidated++
    const merged = { ...known, headers: mergedHeaders(known.headers, outcome.headers.raw) }
    const kept = this.#storable(cached, 200, name => headerOf(merged, name))
    const response = {
      ...merged,
      receivedAtMs: this.#nowMs(),
      ageSecs: kept?.ageSecs ?? 0,
      freshSecs: kept?.freshSecs ?? 0,
    }
    if (kept === undefined) this.#stored.invalidate(cached.api, cached.key)
    else this.#keep(cached, response)
    cached.exchange.cacheHit = true
    return responseOf(
      response,
      cached.header,
      this.#ageOf(response),
      'toolgate; hit; fwd=stale; fwd-status=304',
    )
  }

  /** Passes a response on, and keeps it when it has arrived whole. */
  #keepResponse(cached: Cached, outcome: Outcome): Outcome {
    if (outcome.kind !== 'response') return outcome
    const { status, headers, body } = outcome
    const kept = this.#storable(cached, status, name => headers.get(name))
    const declared = Number(headers.get('content-length'))
    if (kept === undefined || declared > cached.rule.maxResponseBytes) return outcome
    const receivedAtMs = this.#nowMs()
    const { ageSecs, freshSecs } = kept
    const recorded = recordBody(body, cached.rule.maxResponseBytes, cached.exchange.budget, whole =>
      this.#keep(cached, {
        status,
        headers: headers.raw,
        body: whole,
        receivedAtMs,
        ageSecs,
        freshSecs,
      }),
    )
    return { kind: 'response', status, headers, body: recorded }
  }

  #storable(
    { rule, header }: Cached,
    status: number,
    responseHeader: (name: string) => string,
  ): Storable | undefined {
    const hadCredential = header('authorization') !== '' || header('x-api-key') !== ''
    return storable(rule, status, responseHeader, hadCredential, this.#nowMs())
  }

  #keep({ api, key, variant, changes }: Cached, response: StoredResponse): void {
    // the API, or what it has at this address, may have changed while the response arrived
    if (!this.#served.has(api) || this.#changes.hasChanged(api, key, changes)) return
    this.#stored.keep(api, key, variant, response)
  }

  #ageOf({ receivedAtMs, ageSecs }: StoredResponse): number {
    return ageSecs + Math.max(0, Math.floor((this.#nowMs() - receivedAtMs) / 1000))
  }
}

/** '' where all share; undefined: the caller is not known, so that nothing can be kept for it alone. */
function callerOf({ scope }: CacheRule, { principal, tenant }: Exchange): string | undefined {
  if (scope === 'public') return ''
  if (principal === undefined || principal.kind === 'anonymous') return undefined
  const { kind, subject, consumer, visibilityKey } = principal
  return JSON.stringify([tenant ?? null, kind, subject, consumer, visibilityKey])
}

/** Headers that differ where the response is the same; the last two are about caches. */
const NOT_IN_THE_KEY: ReadonlySet<string> = new Set([...OF_THE_CALL, 'cache-control', 'pragma'])

/** All that reaches the upstream beside the address: the response may depend on it, whether or not `Vary` says so. */
function variantOf(caller: string, headers: readonly string[]): string {
  const hash = createHash('sha256').update(caller)
  for (let at = 0; at < headers.length; at += 2)
    if (!NOT_IN_THE_KEY.has(headers[at]!)) hash.update(`\n${headers[at]}:${headers[at + 1]}`)
  return hash.digest('base64')
}

function headerOf({ headers }: Pick<StoredResponse, 'headers'>, name: string): string {
  let found: string | undefined
  for (let at = 0; at < headers.length; at += 2) {
    if (headers[at]!.toLowerCase() !== name) continue
    found = found === undefined ? headers[at + 1]! : `${found}, ${headers[at + 1]!}`
  }
  return found ?? ''
}

function withoutConditions(headers: readonly string[]): string[] {
  const kept: string[] = []
  for (let at = 0; at < headers.length; at += 2)
    if (!CONDITIONS.has(headers[at]!.toLowerCase())) kept.push(headers[at]!, headers[at + 1]!)
  return kept
}

function mergedHeaders(stored: readonly string[], fresh: readonly string[]): string[] {
  const replaced = new Set<string>()
  const added: string[] = []
  for (let at = 0; at < fresh.length; at += 2) {
    const name = fresh[at]!.toLowerCase()
    if (OF_THE_BODY.has(name)) continue
    replaced.add(name)
    added.push(name, fresh[at + 1]!)
  }
  const kept: string[] = []
  for (let at = 0; at < stored.length; at += 2) {
    const name = stored[at]!.toLowerCase()
    if (!replaced.has(name) && name !== 'age') kept.push(name, stored[at + 1]!)
  }
  return [...kept, ...added]
}

/** A stored response as one of the upstream; 304 when the client has it already. */
function responseOf(
  known: StoredResponse,
  header: (name: string) => string,
  age: number,
  status: string,
): EgressStreamResponse {
  const isKnown = hasTag(header('if-none-match'), headerOf(known, 'etag'))
  const own = ['age', String(age), 'cache-status', status]
  const raw: string[] = []
  for (let at = 0; at < known.headers.length; at += 2) {
    const name = known.headers[at]!.toLowerCase()
    if (
      name === 'age' ||
      name === 'cache-status' ||
      name === 'transfer-encoding' ||
      name === 'content-length'
    )
      continue
    raw.push(name, known.headers[at + 1]!)
  }
  raw.push(...own)
  if (!isKnown) raw.push('content-length', String(known.body.byteLength))
  const headers: EgressHeaders = { raw, get: name => headerOf({ headers: raw }, name) }
  return {
    kind: 'response',
    status: isKnown ? 304 : known.status,
    headers,
    body: { ...pieces(isKnown ? [] : [known.body]), destroy() {} },
  }
}

function pieces(all: readonly Uint8Array[]): AsyncIterable<Uint8Array> {
  return {
    async *[Symbol.asyncIterator]() {
      yield* all
    },
  }
}

/** A body that is passed on, and handed over whole at its end unless it is too long or the budget does not allow it. */
function recordBody(
  body: EgressStreamResponse['body'],
  maxBytes: number,
  budget: ByteBudget | undefined,
  onWhole: (whole: Uint8Array) => void,
): EgressStreamResponse['body'] {
  async function* read() {
    const held: Uint8Array[] = []
    let bytes = 0
    let isHeld = true
    for await (const piece of body) {
      const before = bytes
      bytes += piece.byteLength
      isHeld &&= bytes <= maxBytes && mayGrow(budget, before, bytes)
      if (isHeld) held.push(Uint8Array.from(piece))
      else held.length = 0
      yield piece
    }
    if (isHeld) onWhole(Buffer.concat(held))
  }
  return { [Symbol.asyncIterator]: read, destroy: () => body.destroy() }
}

/** Addresses that share a slot count as changed together: a response more than necessary is not kept. */
const SLOTS = 4096

class Changes {
  /** Number of the last change of the addresses of each slot. */
  readonly #last = new Float64Array(SLOTS)
  #count = 0
  #all = 0

  /** The number of changes so far, to be taken before the upstream is asked. */
  get count(): number {
    return this.#count
  }

  add(api: CompiledApi, key: string): void {
    this.#last[slotOf(api, key)] = ++this.#count
  }

  /** Every address counts as changed. */
  addAll(): void {
    this.#all = ++this.#count
  }

  /** @param count as it was when the upstream was asked */
  hasChanged(api: CompiledApi, key: string, count: number): boolean {
    return this.#all > count || this.#last[slotOf(api, key)]! > count
  }
}

function slotOf({ index }: CompiledApi, key: string): number {
  return hashText(key, index) & (SLOTS - 1)
}
