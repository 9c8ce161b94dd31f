/** Caches results of read-only tools that opted in, and lets concurrent calls share a backend call. */

import type { MaybePending } from '../../../base/and-then.ts'
import { Cancellation } from '../../../base/cancellation.ts'
import type { ObjectSchema } from '../../../base/json/json-schema.ts'
import { oncePer } from '../../../base/once-per.ts'
import { canonicalJson } from '../../../link/document.ts'
import { refuse } from '../../../model/refusal.ts'
import { isPerCaller, type Tool, type ToolResult } from '../../../model/tool.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import { isCall } from '../../pipeline/operation.ts'
import type { Outcome, Reply } from '../../pipeline/outcome.ts'
import type { CompiledTool, Snapshot } from '../../snapshot/snapshot.ts'
import { subjectKeyOf } from '../shared/subject-key.ts'

interface CacheEntry {
  readonly result: ToolResult
  readonly untilMs: number
  readonly bytes: number
  /** When it was last moved to the end of the LRU order, Unix ms. */
  movedAtMs: number
}

interface Shared {
  readonly outcome: Promise<Outcome>
  readonly cancellation: Cancellation
  callers: number
}

/** Calls the backend, to be cancelled by the given cancellation and not by the exchange's own. */
type CallBackend = (exchange: Exchange, cancellation: Cancellation) => MaybePending<Outcome>

/** How long results of the tool are cached; 0: not at all, as what a backend responds to one caller's token is not for another caller. */
export function cachedMs({ cache, annotations, authentication }: Tool): number {
  const ttlMs = cache?.ttlMs ?? 0
  return ttlMs > 0 && annotations.readOnlyHint && !isPerCaller(authentication) ? ttlMs : 0
}

const MAX_ENTRIES = 10_000
/** An entry in use moves at most this often: moving it costs more than finding it. */
const MOVE_EVERY_MS = 1000
const MAX_BYTES = 64 * 1024 * 1024
/** Result chars of a result, beside its texts. */
const RESULT_CHARS = 100

export class ResultCache {
  /** For calls of tools that opted in. */
  readonly counts = { hits: 0, misses: 0 }
  /** Least recently used first. */
  readonly #entries = new Map<string, CacheEntry>()
  /** Backend calls that others may join. */
  readonly #shared = new Map<string, Shared>()
  /** Counts calls of `clear`. */
  #generation = 0
  #bytes = 0
  readonly #scopes = new WeakMap<Snapshot, Map<string, number>>()
  #lastScope = 0

  /** The cached or shared outcome, or the backend's. */
  respond(exchange: Exchange, call: CallBackend): MaybePending<Outcome> {
    const tool = exchange.tool!
    const ttlMs = cachedMs(tool.tool)
    if (ttlMs === 0) return call(exchange, exchange.cancellation)
    const key = this.#keyOf(exchange, tool)
    const known = this.#find(key, exchange.receivedAtMs)
    if (known !== undefined) {
      exchange.cacheHit = true
      this.counts.hits++
      return { kind: 'reply', result: known, backendStatus: 200 }
    }
    return this.#share(key, exchange, ttlMs, call)
  }

  /** Number of cached results. */
  get size(): number {
    return this.#entries.size
  }

  /** Evicts everything. Results of calls in flight are not cached, and no later call joins them. @returns the number of entries evicted */
  clear(): number {
    const count = this.#entries.size
    this.#generation++
    this.#shared.clear()
    this.#entries.clear()
    this.#bytes = 0
    return count
  }

  /** Snapshot, class of the caller, tool and canonical arguments: equivalent calls have the same key. */
  #keyOf(exchange: Exchange, tool: CompiledTool): string {
    const { operation, snapshot } = exchange
    const args = isCall(operation) ? operation.arguments : {}
    const canonical = canonicalJson(withDefaults(tool.tool.inputSchema, args))
    return `${this.#scopeOf(snapshot, subjectKeyOf(exchange))} ${tool.index} ${canonical}`
  }

  /** A number for snapshot and class: short, because each call hashes and compares the key. */
  #scopeOf(snapshot: Snapshot, subjectKey: string): number {
    let scopes = this.#scopes.get(snapshot)
    // when full, start again: entries under old numbers expire or are evicted
    if (scopes === undefined || scopes.size >= MAX_ENTRIES) {
      scopes = new Map()
      this.#scopes.set(snapshot, scopes)
    }
    let scope = scopes.get(subjectKey)
    if (scope === undefined) {
      scope = ++this.#lastScope
      scopes.set(subjectKey, scope)
    }
    return scope
  }

  #find(key: string, nowMs: number): ToolResult | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    const expired = entry.untilMs <= nowMs
    if (!expired && nowMs - entry.movedAtMs < MOVE_EVERY_MS) return entry.result
    this.#drop(key, entry)
    if (expired) return undefined
    entry.movedAtMs = nowMs
    this.#keep(key, entry)
    return entry.result
  }

  async #share(key: string, exchange: Exchange, ttlMs: number, call: CallBackend): Promise<Outcome> {
    let shared = this.#shared.get(key)
    const isFirst = shared === undefined
    if (shared === undefined) {
      this.counts.misses++
      const cancellation = new Cancellation()
      shared = { cancellation, callers: 0, outcome: Promise.resolve(call(exchange, cancellation)) }
      this.#shared.set(key, shared)
      const own = shared
      const generation = this.#generation
      const finish = (): void => {
        if (this.#shared.get(key) === own) this.#shared.delete(key)
      }
      own.outcome.then(outcome => {
        finish()
        if (generation === this.#generation && outcome?.kind === 'reply' && outcome.failure === undefined)
          this.#cache(key, outcome, exchange.receivedAtMs + ttlMs, exchange.receivedAtMs)
      }, finish)
    } else {
      exchange.cacheHit = true
      this.counts.hits++
    }
    const mine = shared
    mine.callers++
    let settleCancelled = (_: Outcome): void => {}
    const cancelled = new Promise<Outcome>(resolve => {
      settleCancelled = resolve
    })
    // the backend call is cancelled when its last caller cancels; the others wait for it
    const stop = exchange.cancellation.onCancel(() => {
      // the bytes of the response count for the first caller, who waits for them
      if (!isFirst) settleCancelled(refuse('cancelled'))
      if (--mine.callers > 0) return
      if (this.#shared.get(key) === mine) this.#shared.delete(key)
      mine.cancellation.cancel()
    })
    try {
      return await Promise.race([mine.outcome, cancelled])
    } finally {
      stop()
    }
  }

  #cache(key: string, reply: Reply, untilMs: number, nowMs: number): void {
    const bytes = 2 * (key.length + charsOf(reply.result))
    if (bytes > MAX_BYTES / 16) return
    this.#keep(key, { result: reply.result, untilMs, bytes, movedAtMs: nowMs })
    while (this.#entries.size > MAX_ENTRIES || this.#bytes > MAX_BYTES) {
      const [oldest, entry] = this.#entries.entries().next().value!
      this.#drop(oldest, entry)
    }
  }

  #keep(key: string, entry: CacheEntry): void {
    // a call that was cancelled may end after the one that replaced it
    const before = this.#entries.get(key)
    if (before !== undefined) this.#drop(key, before)
    this.#entries.set(key, entry)
    this.#bytes += entry.bytes
  }

  #drop(key: string, entry: CacheEntry): void {
    this.#entries.delete(key)
    this.#bytes -= entry.bytes
  }
}

/** About the length of its JSON, without writing it: structured content is that of a text. */
function charsOf({ content, structuredContent }: ToolResult): number {
  let chars = 0
  for (const part of content) {
    if (part.type === 'text') chars += part.text.length
    else if (part.type === 'resource') chars += String(part.resource.text ?? part.resource.blob ?? '').length
    else if (part.type !== 'resource_link') chars += part.data.length
  }
  return RESULT_CHARS + (structuredContent === undefined ? chars : 2 * chars)
}

type Arguments = { readonly [name: string]: unknown }

function withDefaults(schema: ObjectSchema, args: Arguments): Arguments {
  let filled: Record<string, unknown> | undefined
  for (const [name, value] of defaultsOf(schema)) {
    if (Object.hasOwn(args, name)) continue
    filled ??= { ...args }
    filled[name] = value
  }
  return filled ?? args
}

const defaultsOf = oncePer((schema: ObjectSchema) =>
  Object.entries(schema.properties ?? {})
    .filter(([, property]) => property.default !== undefined)
    .map(([name, property]) => [name, property.default] as const),
)
