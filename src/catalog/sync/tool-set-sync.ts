/** Synchronizes one tool-set: obtains the document, compiles it and schedules the next run, one at a time. It publishes no tools. */

import { createHash } from 'node:crypto'
import type { KeyReference, ToolSet } from '../../model/tool-set.ts'
import { backoffMs } from '../../shared/async/backoff.ts'
import type { Egress } from '../../shared/egress/egress.ts'
import type { Compiled, CompileOutcome, ToolSetCompiler } from './compile-job.ts'
import type { DocumentStore } from './document-store.ts'
import { fetchDocument } from './fetch-document.ts'

/** Reads what tool-sets of a source refer to. Each function throws an Error that names what is missing. */
export interface ReferenceReader {
  /** An OpenAPI document as text or UTF-8. */
  readDocument(
    kind: 'configMap' | 'secret',
    namespace: string,
    ref: KeyReference,
  ): Promise<string | Uint8Array>
  /** A credential, without a trailing line break. */
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

/** The result of one synchronization. */
export type SyncOutcome =
  | Exclude<CompileOutcome, { kind: 'fault' }>
  | {
      readonly kind: 'fault'
      readonly message: string
      readonly fallback?: Exclude<CompileOutcome, { kind: 'fault' }>
    }
  | { readonly kind: 'disabled' }
  | { readonly kind: 'empty' }

/** The document and credential that the source reads locally. */
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
  /** Fingerprint of the last local document and credential, or the reason why they could not be read. */
  #lastLocal: string | undefined
  /** Hashes of the last compiled document and of the other inputs. */
  #known: { readonly specHash: string; readonly inputs: string } | undefined

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

  /** Synchronizes now, or once more after the running synchronization. Resolves when no run is pending. */
  async sync(): Promise<void> {
    clearTimeout(this.#timer)
    if (this.#running !== undefined) {
      this.#again = true
      return this.#running
    }
    this.#running = this.#loop()
    await this.#running
  }

  /** Synchronizes when the local document or credential (file, ConfigMap, Secret) has changed. */
  async syncIfChanged(): Promise<void> {
    if (this.#running !== undefined || !this.toolSet.enabled) return
    const seen = await this.#readLocal().then(localFingerprint, messageOf)
    if (seen !== this.#lastLocal) await this.sync()
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
      this.#lastLocal = localFingerprint(local)
      if (toolSet.source.kind === 'url')
        return await this.#fromUrl(toolSet, toolSet.source.url, local.credential)
      const document = toolSet.source.kind === 'inline' ? toolSet.source.text : (local.document ?? '')
      return await this.#compile(document, undefined, local.credential)
    } catch (error) {
      this.#lastLocal = messageOf(error)
      return { kind: 'fault', message: this.#lastLocal }
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

  /** Uses the stored document when the source is unavailable and no tools are served yet, and when it is unmodified. */
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
    // The source of the document does not affect the tools, and an inline document is large.
    const { source: _, ...toolSet } = this.toolSet
    const inputs = fingerprint(toolSet, documentUrl, credential)
    const known = this.#known?.inputs === inputs ? this.#known.specHash : undefined
    const outcome = await this.#parts.compiler.compile({
      document,
      toolSet,
      ...(documentUrl === undefined ? {} : { documentUrl }),
      ...(credential === undefined ? {} : { credential }),
      ...(known === undefined ? {} : { knownHash: known }),
    })
    if (outcome.kind === 'compiled') this.#known = { specHash: outcome.specHash, inputs }
    return outcome
  }

  /** After a success, waits for the refresh interval; after an error, for the backoff, at most the interval. Both with 10 % jitter. */
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

/** Hash of all inputs of a compilation except the document. */
function fingerprint(
  toolSet: ToolSet,
  documentUrl: string | undefined,
  credential: string | undefined,
): string {
  return createHash('sha256')
    .update(JSON.stringify([toolSet, documentUrl ?? null, credential ?? null]))
    .digest('hex')
}

function localFingerprint({ document, credential }: Local): string {
  return createHash('sha256')
    .update(document ?? '')
    .update(JSON.stringify([document === undefined, credential ?? null]))
    .digest('hex')
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
