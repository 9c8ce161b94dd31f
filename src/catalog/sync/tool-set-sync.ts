/** The life of one tool-set: obtain the document, compile, wait, again. One synchronization at a time; it publishes nothing itself. */

import { createHash } from 'node:crypto'
import type { KeyReference, ToolSet } from '../../model/tool-set.ts'
import { backoffMs } from '../../shared/async/backoff.ts'
import type { Egress } from '../../shared/egress/egress.ts'
import type { Compiled, CompileOutcome, ToolSetCompiler } from './compile-job.ts'
import type { DocumentStore } from './document-store.ts'
import { fetchDocument } from './fetch-document.ts'

/** What a source can read for its tool-sets. Each throws an Error whose message says what is missing. */
export interface ReferenceReader {
  /** An OpenAPI document: text, or UTF-8 as it lies there. */
  readDocument(
    kind: 'configMap' | 'secret',
    namespace: string,
    ref: KeyReference,
  ): Promise<string | Uint8Array>
  /** A credential, without the line end after it. */
  readSecret(namespace: string, ref: KeyReference): Promise<string>
}

export interface SyncParts {
  readonly references: ReferenceReader
  readonly compiler: ToolSetCompiler
  readonly documents: DocumentStore
  readonly egress: Egress
  /** 0 ≤ x < 1; for jitter. */
  readonly random: () => number
}

/** What one synchronization found. */
export type SyncOutcome =
  | Exclude<CompileOutcome, { kind: 'fault' }>
  | {
      readonly kind: 'fault'
      readonly message: string
      readonly fallback?: Exclude<CompileOutcome, { kind: 'fault' }>
    }
  | { readonly kind: 'disabled' }
  | { readonly kind: 'empty' }

/** What the source itself holds for a tool-set. */
interface Local {
  readonly document: string | Uint8Array | undefined
  readonly credential: string | undefined
}

const BACKOFF = { firstMs: 5_000, maxMs: 300_000 }
const MAX_TIMER_MS = 2_000_000_000

export class ToolSetSync {
  toolSet: ToolSet
  readonly #parts: SyncParts
  readonly #settled: (outcome: SyncOutcome) => void
  readonly #started: () => void
  #running: Promise<void> | undefined
  #again = false
  #closed = false
  #timer: NodeJS.Timeout | undefined
  #failures = 0
  /** Print of what was last read from the source itself, or why it could not be. */
  #seen: string | undefined
  /** Hash of the document whose tools the owner holds, and of what they were made with. */
  #known: { readonly specHash: string; readonly madeWith: string } | undefined

  constructor(
    toolSet: ToolSet,
    parts: SyncParts,
    started: () => void,
    settled: (outcome: SyncOutcome) => void,
  ) {
    this.toolSet = toolSet
    this.#parts = parts
    this.#started = started
    this.#settled = settled
  }

  /** Synchronizes now, or once more when the running one is over. Resolves when nothing is left to do. */
  async sync(): Promise<void> {
    clearTimeout(this.#timer)
    if (this.#running !== undefined) {
      this.#again = true
      return this.#running
    }
    this.#running = this.#loop()
    await this.#running
  }

  /** Synchronizes when what the source itself holds (file, ConfigMap, Secret) is not what was last read. */
  async syncIfChanged(): Promise<void> {
    if (this.#running !== undefined || !this.toolSet.enabled) return
    const seen = await this.#readLocal().then(printOf, messageOf)
    if (seen !== this.#seen) await this.sync()
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    await this.#running
  }

  async #loop(): Promise<void> {
    do {
      this.#again = false
      if (this.#closed) break
      this.#started()
      const outcome = await this.#once()
      if (this.#closed) break
      this.#failures = outcome.kind === 'fault' ? this.#failures + 1 : 0
      this.#settled(outcome)
    } while (this.#again)
    this.#running = undefined
    this.#schedule()
  }

  async #once(): Promise<SyncOutcome> {
    const { toolSet } = this
    if (!toolSet.enabled) {
      this.#known = undefined
      return { kind: 'disabled' }
    }
    if (toolSet.source === undefined) return { kind: 'empty' }
    try {
      const local = await this.#readLocal()
      this.#seen = printOf(local)
      if (toolSet.source.kind === 'url')
        return await this.#fromUrl(toolSet, toolSet.source.url, local.credential)
      const document = toolSet.source.kind === 'inline' ? toolSet.source.text : (local.document ?? '')
      return await this.#compile(document, undefined, local.credential)
    } catch (error) {
      this.#seen = messageOf(error)
      return { kind: 'fault', message: this.#seen }
    }
  }

  async #readLocal(): Promise<Local> {
    const { source, namespace, toolDefaults } = this.toolSet
    const { references } = this.#parts
    const { secretRef } = toolDefaults.authentication
    const credential = secretRef === undefined ? undefined : await references.readSecret(namespace, secretRef)
    if (source?.kind !== 'configMap' && source?.kind !== 'secret') return { document: undefined, credential }
    return { document: await references.readDocument(source.kind, namespace, source.ref), credential }
  }

  /** The stored document stands in while the source is away and nothing is served yet, and when the source says that nothing changed. */
  async #fromUrl(toolSet: ToolSet, url: string, credential: string | undefined): Promise<SyncOutcome> {
    const { documents, egress } = this.#parts
    const stored = await documents.read(toolSet.namespace, toolSet.name, url)
    let fetched: Awaited<ReturnType<typeof fetchDocument>>
    try {
      fetched = await fetchDocument(egress, url, stored?.etag)
    } catch (error) {
      const fault = { kind: 'fault', message: messageOf(error) } as const
      if (stored === undefined) return fault
      const fallback = await this.#compile(stored.bytes, url, credential)
      return fallback.kind === 'fault' ? fault : { ...fault, fallback }
    }
    if (fetched.kind === 'unmodified') return this.#compile(stored!.bytes, url, credential)
    const isNew =
      stored === undefined ||
      stored.etag !== fetched.etag ||
      Buffer.compare(stored.bytes, fetched.bytes) !== 0
    const outcome = await this.#compile(fetched.bytes, url, credential)
    if (outcome.kind === 'fault') {
      if (stored === undefined) return outcome
      const fallback = await this.#compile(stored.bytes, url, credential)
      return fallback.kind === 'fault' ? outcome : { ...outcome, fallback }
    }
    if (isNew) {
      const bytes = outcome.document ?? fetched.bytes
      await documents.write(toolSet.namespace, toolSet.name, { url, etag: fetched.etag, bytes })
    }
    return outcome
  }

  async #compile(
    document: string | Uint8Array,
    documentUrl: string | undefined,
    credential: string | undefined,
  ): Promise<Compiled> {
    // What the document is read from says nothing about the tools, and an inline document is large.
    const { source: _, ...toolSet } = this.toolSet
    const madeWith = fingerprint(toolSet, documentUrl, credential)
    const known = this.#known?.madeWith === madeWith ? this.#known.specHash : undefined
    const outcome = await this.#parts.compiler.compile({
      document,
      toolSet,
      ...(documentUrl === undefined ? {} : { documentUrl }),
      ...(credential === undefined ? {} : { credential }),
      ...(known === undefined ? {} : { knownHash: known }),
    })
    if (outcome.kind === 'compiled') this.#known = { specHash: outcome.specHash, madeWith }
    return outcome
  }

  /** After a success the refresh interval, after a failure a growing delay never longer than it; both with 10 % jitter. */
  #schedule(): void {
    const { source, enabled } = this.toolSet
    if (this.#closed || !enabled || source === undefined) return
    const refreshMs = source.kind === 'url' ? source.refreshIntervalMs : BACKOFF.maxMs
    if (source.kind !== 'url' && this.#failures === 0) return
    const retryMs = backoffMs(BACKOFF, this.#failures - 1)
    const delayMs = this.#failures === 0 ? refreshMs : Math.min(retryMs, refreshMs)
    const jittered = delayMs * (0.9 + 0.2 * this.#parts.random())
    this.#timer = setTimeout(() => void this.sync(), Math.min(jittered, MAX_TIMER_MS))
    this.#timer.unref()
  }
}

/** Everything but the document that decides how the tools look; the credential as a hash only. */
function fingerprint(
  toolSet: ToolSet,
  documentUrl: string | undefined,
  credential: string | undefined,
): string {
  return createHash('sha256')
    .update(JSON.stringify([toolSet, documentUrl ?? null, credential ?? null]))
    .digest('hex')
}

function printOf({ document, credential }: Local): string {
  return createHash('sha256')
    .update(document ?? '')
    .update(JSON.stringify([document === undefined, credential ?? null]))
    .digest('hex')
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
