/** Synchronizes a tool set: obtains its document or MCP lists, compiles them, stores remote ones and schedules runs. */

import { backoffMs } from '../../base/async/backoff.ts'
import { writeJson } from '../../base/json/exact-number.ts'
import type { BoundSecret } from '../../model/bound-secret.ts'
import type { PendingDefinitions } from '../../model/pending-definitions.ts'
import type { KeyReference, ToolSet } from '../../model/tool-set.ts'
import type { Egress } from '../../net/egress/egress.ts'
import { isMcpToolSet, type McpToolSet, requireBoundSecret } from '../mcp/compile-listing.ts'
import { holdChanges } from '../mcp/hold-changes.ts'
import { ServerListing } from '../mcp/server-listing.ts'
import { acceptedTools, filesOf } from './accepted-tools.ts'
import type { Compiled, CompileOutcome, ToolSetCompiler } from './compile-job.ts'
import { type DocumentStore, isSameDocument, type StoredDocument, type StoredFile } from './document-store.ts'
import { fetchDocument } from './fetch-document.ts'
import { folderFiles, noFiles, originFiles, storedFiles } from './file-readers.ts'
import { FileLoader, type FileReader } from './load-files.ts'
import { fingerprint, type Local, type LocalInputs, localFingerprint } from './local-inputs.ts'

/** Reads what tool-sets of a source refer to. Each function throws an Error that names what is missing. */
export interface ReferenceReader {
  /** An OpenAPI document as text or UTF-8. */
  readDocument(
    kind: 'configMap' | 'secret',
    namespace: string,
    ref: KeyReference,
  ): Promise<string | Uint8Array>
  /** A file beside a document of a ConfigMap. @param path relative to the folder of the document */
  readFile(namespace: string, ref: KeyReference, path: string): Promise<string | Uint8Array>
  /** A credential, without a trailing line break, with the hosts that the secret names for it. */
  readSecret(namespace: string, ref: KeyReference): Promise<BoundSecret>
}

export interface SyncParts {
  readonly references: ReferenceReader
  readonly compiler: ToolSetCompiler
  readonly documents: Pick<DocumentStore, 'read' | 'write' | 'remove'>
  readonly egress: Egress
  /** 0 ≤ x < 1; for jitter. */
  readonly random: () => number
}

/** The outcome of a compilation with all files. */
type Linked = Exclude<CompileOutcome, { kind: 'incomplete' }> & { readonly document?: Uint8Array }

/** The result of one synchronization. */
export type SyncOutcome =
  | Exclude<Linked, { kind: 'fault' }>
  | {
      readonly kind: 'fault'
      readonly message: string
      /** True: the tools of the last run are not served any more. */
      readonly withdraws?: true
      readonly fallback?: Exclude<Linked, { kind: 'fault' }>
    }
  | { readonly kind: 'disabled' }
  | { readonly kind: 'empty' }

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
  /** Listing of an MCP server. */
  #listing: ServerListing | undefined
  #timer: NodeJS.Timeout | undefined
  #failures = 0
  /** The last list of an MCP server that is not trusted: hash of its tools as they are served, and what waits. */
  definitions: { readonly hash: string; readonly pending: PendingDefinitions | undefined } | undefined
  /** The last list of an MCP server, while it could not be stored. */
  #unstored: StoredDocument | undefined
  /** A referenced file could not be read. */
  #incomplete = false
  /** Addresses of the files that the last local document refers to. */
  #localFiles: readonly string[] = []
  /** Fingerprint of the last local document, its files, overlays and credential, or the reason why they could not be read. */
  #lastLocal: string | undefined
  /** Hashes of the last compiled document and of the other inputs. */
  #known: { readonly specHash: string; readonly inputs: string } | undefined
  /** Hosts of the secret: as read last, and of the last tools. */
  readonly #hosts = { read: '', used: '' }

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

  /** Synchronizes when the local document, its files, an overlay or the credential (file, ConfigMap, Secret) has changed. */
  async syncIfChanged(): Promise<void> {
    if (this.#running !== undefined || !this.toolSet.enabled) return
    const seen = await this.#fingerprintNow().catch(messageOf)
    if (seen !== this.#lastLocal) await this.sync()
  }

  async #fingerprintNow(): Promise<string> {
    const local = await this.#readLocal()
    const loader = new FileLoader(this.#localReader())
    await loader.load(this.#localFiles)
    return localFingerprint(local, loader)
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    await this.#listing?.close()
    await this.#running
  }

  async #loop(): Promise<void> {
    do {
      this.#again = false
      if (this.#closed) break
      this.#started()
      const outcome = this.#withdrawn(await this.#once())
      if (this.#closed) break
      this.#failures = outcome.kind === 'fault' || this.#incomplete ? this.#failures + 1 : 0
      this.#settled(outcome)
    } while (this.#again)
    this.#running = undefined
    this.#schedule()
  }

  /** Tools that could not be compiled again do not keep a secret whose hosts have changed. */
  #withdrawn(outcome: SyncOutcome): SyncOutcome {
    const { read, used } = this.#hosts
    if (outcome.kind === 'fault' && outcome.fallback === undefined)
      return read === used ? outcome : { ...outcome, withdraws: true }
    this.#hosts.used = read
    return outcome
  }

  async #once(): Promise<SyncOutcome> {
    const { toolSet } = this
    if (!toolSet.enabled || !isMcpToolSet(toolSet)) {
      await this.#listing?.close()
      this.#listing = undefined
      this.definitions = undefined
    }
    if (!toolSet.enabled) {
      this.#known = undefined
      return { kind: 'disabled' }
    }
    if (toolSet.source === undefined) return { kind: 'empty' }
    try {
      const local = await this.#readLocal()
      const loader = new FileLoader(this.#localReader())
      this.#incomplete = false
      this.#lastLocal = localFingerprint(local, loader)
      if (isMcpToolSet(toolSet)) return await this.#fromServer(toolSet, local)
      if (toolSet.source.kind === 'url') return await this.#fromUrl(toolSet, toolSet.source.url, local)
      const document = toolSet.source.kind === 'inline' ? toolSet.source.text : (local.document ?? '')
      const outcome = await this.#compile(document, loader, local)
      this.#localFiles = loader.requested
      this.#lastLocal = localFingerprint(local, loader)
      return outcome
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
    this.#hosts.read = String(credential?.hosts)
    if (isMcpToolSet(this.toolSet)) requireBoundSecret(this.toolSet, credential)
    const overlayTexts: (string | Uint8Array)[] = []
    for (const overlay of this.toolSet.overlays ?? [])
      if (overlay.kind === 'configMap')
        overlayTexts.push(await references.readDocument('configMap', namespace, overlay.ref))
    const isLocal = source?.kind === 'configMap' || source?.kind === 'secret'
    const document = isLocal ? await references.readDocument(source.kind, namespace, source.ref) : undefined
    return { document, credential, overlayTexts }
  }

  #localReader(): FileReader {
    const { source, namespace } = this.toolSet
    if (source?.kind === 'configMap') {
      const { ref } = source
      const uri = `configmap:///_/${encodeURIComponent(ref.name)}/${encodeURIComponent(ref.key)}`
      return folderFiles(uri, path => this.#parts.references.readFile(namespace, ref, path))
    }
    return noFiles(source?.kind === 'secret' ? 'secret' : 'inline')
  }

  /** Uses the stored document when the source is unavailable or its document cannot be compiled, and when it is unmodified. */
  async #fromUrl(toolSet: ToolSet, url: string, local: LocalInputs): Promise<SyncOutcome> {
    const { documents, egress } = this.#parts
    const stored = await documents.read(toolSet.namespace, toolSet.name, url)
    const seen = new Map<string, StoredFile>()
    const loader = new FileLoader(originFiles(egress, url, stored?.files ?? new Map(), seen))
    let fetched: Awaited<ReturnType<typeof fetchDocument>>
    let outcome: Linked
    try {
      fetched = await fetchDocument(egress, url, stored?.etag)
      const bytes = fetched.kind === 'unmodified' ? stored!.bytes : fetched.bytes
      outcome = await this.#compile(bytes, loader, local, url)
    } catch (error) {
      return this.#fallback({ kind: 'fault', message: messageOf(error) }, stored, local)
    }
    if (outcome.kind === 'fault') return this.#fallback(outcome, stored, local)
    const { etag } = fetched.kind === 'unmodified' ? stored! : fetched
    const bytes = outcome.document ?? (fetched.kind === 'unmodified' ? stored!.bytes : fetched.bytes)
    const document = { url, etag, bytes, files: seen }
    return this.#keep(outcome, stored, document)
  }

  /**
   * As for a document with an address: the stored list serves while the server is unavailable. It is also what later lists are compared
   * with. The first list of an address is accepted with the ToolSet or API that names the address.
   */
  async #fromServer(toolSet: McpToolSet, local: LocalInputs): Promise<SyncOutcome> {
    const { documents, egress } = this.#parts
    const { namespace, name, source } = toolSet
    this.#listing ??= new ServerListing(egress, () => void this.sync())
    const unstored = this.#unstored?.url === source.url ? this.#unstored : undefined
    const stored = unstored ?? (await documents.read(namespace, name, source.url))
    // a server at another address
    if (stored === undefined) this.definitions = undefined
    let outcome: Linked
    let document: StoredDocument
    try {
      const sent = await this.#listing.read(toolSet, local.credential)
      const isTrusted = source.trusted === true
      const accepted = isTrusted ? undefined : acceptedTools(stored, toolSet)
      const { served, hash, removed, pending } = holdChanges(sent, accepted, toolSet.acceptedSpecHash)
      const bytes = Buffer.from(writeJson(served))
      document = { url: source.url, etag: undefined, bytes: Uint8Array.from(bytes), files: filesOf(removed) }
      outcome = await this.#compile(bytes, new FileLoader(noFiles('listing')), local)
      this.definitions = isTrusted ? undefined : { hash, pending }
    } catch (error) {
      return this.#fallback({ kind: 'fault', message: messageOf(error) }, stored, local)
    }
    if (outcome.kind === 'fault') return this.#fallback(outcome, stored, local)
    const kept = await this.#keep(outcome, stored, document)
    this.#unstored = kept.kind === 'fault' ? document : undefined
    return kept
  }

  /** Stores what was compiled. A full disk is a fault, which is retried, but not a reason to serve other tools. */
  async #keep(
    outcome: Exclude<Linked, { kind: 'fault' }>,
    stored: StoredDocument | undefined,
    document: StoredDocument,
  ): Promise<SyncOutcome> {
    if (stored !== undefined && isSameDocument(stored, document)) return outcome
    const { namespace, name } = this.toolSet
    try {
      await this.#parts.documents.write(namespace, name, document)
      return outcome
    } catch (error) {
      const message = `the gateway serves the tools, but cannot store the copy of the document that it needs after a restart: ${messageOf(error)}`
      return { kind: 'fault', message, fallback: outcome }
    }
  }

  /** The outcome of the stored document, when there is one. */
  async #fallback(
    fault: { readonly kind: 'fault'; readonly message: string },
    stored: StoredDocument | undefined,
    local: LocalInputs,
  ): Promise<SyncOutcome> {
    if (stored === undefined) return fault
    const loader = new FileLoader(storedFiles(stored.url, stored.files))
    const fallback = await this.#compile(stored.bytes, loader, local, stored.url)
    return fallback.kind === 'fault' ? fault : { ...fault, fallback }
  }

  /** @throws RequiredFileError */
  async #compile(
    document: string | Uint8Array,
    loader: FileLoader,
    local: LocalInputs,
    documentUrl?: string,
  ): Promise<Linked> {
    // The source of a document does not affect the tools, and an inline document is large.
    const { source, ...rest } = this.toolSet
    const toolSet = source?.kind === 'mcp' ? { ...rest, source } : rest
    const { credential, overlayTexts } = local
    const inputs = fingerprint(toolSet, documentUrl, local)
    const known = this.#known?.inputs === inputs ? this.#known.specHash : undefined
    let bytes = document
    const outcome = await loader.run<Compiled>(async files => {
      const made = await this.#parts.compiler.compile({
        document: bytes,
        uri: loader.uri,
        files,
        toolSet,
        overlayTexts,
        ...(documentUrl === undefined ? {} : { documentUrl }),
        ...(credential === undefined ? {} : { credential }),
        ...(known === undefined ? {} : { knownHash: known }),
      })
      bytes = made.document ?? bytes
      return made
    })
    this.#incomplete = loader.failed
    if (outcome.kind === 'compiled') this.#known = { specHash: outcome.specHash, inputs }
    return outcome
  }

  /** After a success, a remote source waits for the refresh interval; after an error, any source for the backoff, at most the interval; ±10 % jitter. */
  #schedule(): void {
    const { source, enabled } = this.toolSet
    if (this.#closed || !enabled || source === undefined) return
    const isRemote = source.kind === 'url' || source.kind === 'mcp'
    const refreshMs = isRemote ? source.refreshIntervalMs : BACKOFF.maxMs
    if (!isRemote && this.#failures === 0) return
    const retryMs = backoffMs(BACKOFF, this.#failures - 1)
    const delayMs = this.#failures === 0 ? refreshMs : Math.min(retryMs, refreshMs)
    const jittered = delayMs * (0.9 + 0.2 * this.#parts.random())
    this.#timer = setTimeout(() => void this.sync(), Math.min(jittered, MAX_TIMER_MS))
    this.#timer.unref()
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
