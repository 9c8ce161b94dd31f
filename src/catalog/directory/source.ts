/** The directory source: passes the resources of a directory to the Reconciler, and keeps status files. `read-directory.ts` parses the files. */

import { type FSWatcher, watch } from 'node:fs'
import { SerialQueue } from '../../base/async/serial-queue.ts'
import type { OnDamage } from '../../base/fs/damage.ts'
import type { Egress } from '../../net/egress/egress.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Desired } from '../desired.ts'
import { Reconciler } from '../reconcile.ts'
import { fileReferences } from '../resource/references.ts'
import type { PublishCatalog, ReportedStatus, ReportedView, ToolSource } from '../source.ts'
import type { ToolSetCompiler } from '../sync/compile-job.ts'
import { createCompiler } from '../sync/compiler.ts'
import { DefinitionStore } from '../sync/definition-store.ts'
import { DocumentStore } from '../sync/document-store.ts'
import { keyOf } from '../sync/resource-key.ts'
import type { ReferenceReader } from '../sync/tool-set-sync.ts'
import type { ViewReview } from '../views/view-book.ts'
import { desiredFromFiles } from './desired-from-files.ts'
import {
  type FileContent,
  type FileStamp,
  listFiles,
  readResourceFile,
  type UnknownPath,
} from './read-directory.ts'
import { StatusFiles, ViewStatusFiles } from './status-files.ts'

interface DirectorySourceOptions {
  readonly directory: string
  readonly dataDir: string
  readonly egress: Egress
  /** `API_GROUP`, such as `toolgate.dev`. */
  readonly apiGroup: string
  /** The values of `${NAME}` in resources; no other variables exist. */
  readonly variables: { readonly [name: string]: string }
  readonly log: Log
  readonly onDamage: OnDamage
  readonly review: ViewReview
  /** Closed with the source; default: one that starts with the first document. */
  readonly compiler?: ToolSetCompiler | undefined
  /** Unix ms; for status times. */
  readonly now?: () => number
  /** Polling interval, in addition to notifications; default 10 s. */
  readonly pollIntervalMs?: number
}

const POLL_MS = 10_000

export function createDirectorySource(options: DirectorySourceOptions): ToolSource {
  return new DirectorySource(options)
}

class DirectorySource implements ToolSource {
  readonly #options: DirectorySourceOptions
  readonly references: ReferenceReader
  readonly #statuses: StatusFiles
  readonly #viewStatuses: ViewStatusFiles
  readonly #compiler: ToolSetCompiler
  #reconciler: Reconciler | undefined
  #stopWatching: (() => void) | undefined
  readonly #readings = new SerialQueue()
  #signature: string | undefined
  #referenced = ''
  #refreshOthers: (() => Promise<void>) | undefined
  /** Content by path, so that only changed files are read again. */
  #contents = new Map<string, { readonly stamp: string; readonly content: FileContent }>()
  /** Resources in the order in which they were first seen. */
  readonly #order = new Map<string, number>()
  #closed = false

  constructor(options: DirectorySourceOptions) {
    this.#options = options
    this.#compiler = options.compiler ?? createCompiler()
    this.references = fileReferences(options.directory)
    this.#statuses = new StatusFiles(options.dataDir, options.onDamage)
    this.#viewStatuses = new ViewStatusFiles(options.dataDir)
  }

  async start(publish: PublishCatalog, refreshOthers?: () => Promise<void>): Promise<void> {
    const options = this.#options
    this.#refreshOthers = refreshOthers
    this.#reconciler = new Reconciler(
      {
        references: this.references,
        compiler: this.#compiler,
        documents: new DocumentStore(options.dataDir, options.onDamage),
        definitions: new DefinitionStore(options.dataDir, options.onDamage),
        egress: options.egress,
        random: Math.random,
        statuses: this.#statuses,
        viewStatuses: this.#viewStatuses,
        review: options.review,
        log: options.log,
        now: options.now ?? Date.now,
      },
      publish,
    )
    for (const key of [...(await this.#statuses.servedFiles())].sort()) this.#order.set(key, this.#order.size)
    this.#stopWatching = watchDirectory(options.directory, {
      onChange: () => this.#read(),
      pollIntervalMs: options.pollIntervalMs ?? POLL_MS,
      log: options.log,
    })
    await this.#read()
  }

  statuses(): readonly ReportedStatus[] {
    return this.#reconciler?.statuses() ?? []
  }

  viewStatuses(): readonly ReportedView[] {
    return this.#reconciler?.viewStatuses() ?? []
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#stopWatching?.()
    await this.#reconciler?.close()
    await this.#readings.drain()
    await this.#compiler.close()
  }

  /** One reading at a time; a call during a reading starts another one after it. */
  #read(): Promise<void> {
    return this.#readings
      .run(() => this.#readOnce())
      .catch(error => {
        this.#options.log.error(
          { directory: this.#options.directory, err: error },
          'the ToolSet directory could not be read',
        )
      })
  }

  async #readOnce(): Promise<void> {
    if (this.#closed) return
    const listing = await listFiles(this.#options.directory)
    const { files, unknown } = listing
    const signature = JSON.stringify(listing)
    if (signature === this.#signature) return
    await this.#readContents(
      files.filter(file => file.isResource),
      unknown,
    )
    const contents = [...this.#contents.values()].map(entry => entry.content)
    const desired = await desiredFromFiles(contents, this.#order, this.references)
    const first = this.#signature === undefined
    const referenced = JSON.stringify(files.filter(file => !file.isResource))
    const referencesChanged = !first && referenced !== this.#referenced
    // what an unknown path holds may have a status file
    if (first && unknown.length === 0) await this.#removeOldStatuses(desired)
    await this.#reconciler!.apply(desired)
    if (referencesChanged) await Promise.all([this.#reconciler!.refreshLocal(), this.#refreshOthers?.()])
    // after an error, the next look at the directory applies it again
    this.#signature = signature
    this.#referenced = referenced
  }

  async #removeOldStatuses({ toolSets, views }: Desired): Promise<void> {
    try {
      await this.#statuses.keepOnly(new Set(toolSets.map(keyOf)))
      await this.#viewStatuses.keepOnly(new Set(views.map(keyOf)))
    } catch (error) {
      this.#options.log.error(
        { err: error },
        'the status files of removed resources could not be deleted. Check the disk and permissions of DATA_DIR',
      )
    }
  }

  /** What cannot be read any more keeps its last content, with the fault. */
  async #readContents(files: readonly FileStamp[], unknown: readonly UnknownPath[]): Promise<void> {
    const { directory, apiGroup, variables } = this.#options
    const contents = new Map<string, { stamp: string; content: FileContent }>()
    for (const file of files) {
      const before = this.#contents.get(file.path)
      if (before?.stamp === file.stamp) {
        contents.set(file.path, before)
        continue
      }
      const content = await readResourceFile(file, { directory, apiGroup, variables })
      const last = before?.content.results ?? []
      const kept =
        content.fault === undefined || last.length === 0
          ? content
          : { ...content, results: last, targets: [] }
      contents.set(file.path, { stamp: file.stamp, content: kept })
    }
    for (const { path, fault, targets } of unknown) {
      const known = [...this.#contents].filter(([before]) => before === path || before.startsWith(`${path}/`))
      // without a stamp: it is read again when it can be
      for (const [before, { content }] of known)
        contents.set(before, { stamp: '', content: { ...content, fault } })
      if (known.length === 0)
        contents.set(path, { stamp: '', content: { path, results: [], fault, targets } })
    }
    this.#contents = contents
  }
}

/** One call for several changes: when no other change follows within this time, */
const QUIET_MS = 150
/** but no later than this after the first. */
const MAX_WAIT_MS = 2_000

interface DirectoryWatchOptions {
  readonly onChange: () => void
  readonly pollIntervalMs: number
  readonly log: Log
}

/** Returns a function that stops it. */
function watchDirectory(
  directory: string,
  { onChange, pollIntervalMs, log }: DirectoryWatchOptions,
): () => void {
  let quiet: NodeJS.Timeout | undefined
  let firstAt = 0
  const notify = (): void => {
    quiet = undefined
    onChange()
  }
  const handleChange = (): void => {
    const now = performance.now()
    if (quiet === undefined) firstAt = now
    clearTimeout(quiet)
    quiet = setTimeout(notify, Math.max(0, Math.min(QUIET_MS, firstAt + MAX_WAIT_MS - now)))
  }
  const watcher = tryWatch(directory, handleChange, log)
  const poll = setInterval(onChange, pollIntervalMs)
  poll.unref()
  return () => {
    watcher?.close()
    clearInterval(poll)
    clearTimeout(quiet)
  }
}

function tryWatch(directory: string, changed: () => void, log: Log): FSWatcher | undefined {
  const without = (error: unknown): void => {
    log.warn(
      { directory, err: error },
      'the gateway cannot watch the ToolSet directory; it detects changes only by polling',
    )
  }
  try {
    const watcher = watch(directory, { recursive: true, persistent: false }, changed)
    watcher.on('error', without)
    return watcher
  } catch (error) {
    without(error)
    return undefined
  }
}
