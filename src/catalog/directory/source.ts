/** The directory source: resources in files, watched; status in files. It keeps the last good content of a file that breaks. */

import type { Tool } from '../../model/tool.ts'
import { SerialQueue } from '../../shared/async/serial-queue.ts'
import type { Egress } from '../../shared/egress/egress.ts'
import type { Log } from '../../shared/telemetry/log.ts'
import { Reconciler } from '../reconcile.ts'
import { fileReferences } from '../resource/references.ts'
import type { ToolSource } from '../source.ts'
import { createCompiler } from '../sync/compiler.ts'
import { DefinitionStore } from '../sync/definition-store.ts'
import { DocumentStore } from '../sync/document-store.ts'
import { desiredFrom } from './desired.ts'
import { type FileContent, type FileStamp, listFiles, readResourceFile } from './read-directory.ts'
import { StatusFiles } from './status-files.ts'
import { watchDirectory } from './watch-directory.ts'

export interface DirectorySourceOptions {
  readonly directory: string
  readonly dataDir: string
  readonly egress: Egress
  /** `toolgate.dev` unless the deployment says otherwise. */
  readonly apiGroup: string
  /** What `${NAME}` in a resource may stand for; nothing else is looked up. */
  readonly variables: { readonly [name: string]: string }
  readonly log: Log
  /** Unix ms; for status times. */
  readonly now?: () => number
  /** How often the files are looked at even when no change was announced; 10 s. */
  readonly pollIntervalMs?: number
}

const POLL_MS = 10_000

export function createDirectorySource(options: DirectorySourceOptions): ToolSource {
  return new DirectorySource(options)
}

class DirectorySource implements ToolSource {
  readonly #options: DirectorySourceOptions
  readonly #statuses: StatusFiles
  readonly #compiler = createCompiler()
  #reconciler: Reconciler | undefined
  #stopWatching: (() => void) | undefined
  readonly #readings = new SerialQueue()
  #signature: string | undefined
  #referenced = ''
  /** Content by path, so that only files that changed are read again. */
  #contents = new Map<string, { readonly stamp: string; readonly content: FileContent }>()
  /** Resources in the order in which they were first seen. */
  readonly #order = new Map<string, number>()
  #closed = false

  constructor(options: DirectorySourceOptions) {
    this.#options = options
    this.#statuses = new StatusFiles(options.dataDir)
  }

  async start(publish: (tools: readonly Tool[]) => void): Promise<void> {
    const options = this.#options
    this.#reconciler = new Reconciler(
      {
        references: fileReferences(options.directory),
        compiler: this.#compiler,
        documents: new DocumentStore(options.dataDir),
        definitions: new DefinitionStore(options.dataDir),
        egress: options.egress,
        random: Math.random,
        statuses: this.#statuses,
        log: options.log,
        now: options.now ?? Date.now,
      },
      publish,
    )
    for (const key of [...(await this.#statuses.served())].sort()) this.#order.set(key, this.#order.size)
    this.#stopWatching = watchDirectory(options.directory, {
      onChange: () => this.#read(),
      pollIntervalMs: options.pollIntervalMs ?? POLL_MS,
      log: options.log,
    })
    await this.#read()
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#stopWatching?.()
    await this.#reconciler?.close()
    await this.#readings.drain()
    await this.#compiler.close()
  }

  /** One reading at a time; whoever asks while one runs gets another after it. */
  #read(): Promise<void> {
    return this.#readings
      .run(() => this.#readOnce())
      .catch(error => {
        this.#options.log.error(
          { directory: this.#options.directory, err: error },
          'the tool-set directory cannot be read',
        )
      })
  }

  async #readOnce(): Promise<void> {
    if (this.#closed) return
    const files = await listFiles(this.#options.directory)
    const signature = JSON.stringify(files)
    if (signature === this.#signature) return
    await this.#readContents(files.filter(file => file.isResource))
    const desired = desiredFrom(
      [...this.#contents.values()].map(entry => entry.content),
      this.#order,
    )
    for (const { path, message } of desired.faults) {
      this.#options.log.warn({ file: path, reason: message }, 'a resource is not usable')
    }
    const references = fileReferences(this.#options.directory)
    const manualTools = await desired.resolveManualTools(references, (resource, message) =>
      this.#options.log.warn(
        { namespace: resource.namespace, tool: resource.name, reason: message },
        'a Tool resource cannot be used',
      ),
    )
    const first = this.#signature === undefined
    this.#signature = signature
    const referenced = JSON.stringify(files.filter(file => !file.isResource))
    const referencesChanged = !first && referenced !== this.#referenced
    this.#referenced = referenced
    if (first)
      await this.#statuses.keepOnly(new Set(desired.toolSets.map(set => `${set.namespace}/${set.name}`)))
    await this.#reconciler!.apply({ toolSets: desired.toolSets, manualTools })
    if (referencesChanged) await this.#reconciler!.refreshLocal()
  }

  /** A file that cannot be read any more keeps its last content, with the fault said. */
  async #readContents(files: readonly FileStamp[]): Promise<void> {
    const { directory, apiGroup, variables } = this.#options
    const contents = new Map<string, { stamp: string; content: FileContent }>()
    for (const file of files) {
      const before = this.#contents.get(file.path)
      if (before?.stamp === file.stamp) {
        contents.set(file.path, before)
        continue
      }
      const content = await readResourceFile(file, { directory, apiGroup, variables })
      const kept =
        content.fault === undefined ? content : { ...content, results: before?.content.results ?? [] }
      contents.set(file.path, { stamp: file.stamp, content: kept })
    }
    this.#contents = contents
  }
}
