/** Obtains the files that a document refers to, round by round, with limits on number, bytes, depth and time. A reader decides which files may be read. */
import type { GivenFile, GivenFiles, Incomplete } from '../document/compile-linked.ts'
import { MAX_DOCUMENT_BYTES } from '../document/parse-document.ts'

/** Reads the files of one document. */
export interface FileReader {
  /** Address of the document, the base of its references. */
  readonly uri: string
  /** Why the address must not be read; undefined: it may be. */
  refusal(uri: string): { readonly reason: string; readonly fix: string } | undefined
  /** @throws Error with the reason; a `RequiredFileError` ends the synchronization */
  read(uri: string): Promise<string | Uint8Array>
  /** What to do when `read` throws an error that is not a `FileError`. */
  readonly fix: string
}

/** Why a file cannot be read, with the fix of this reason. */
export class FileError extends Error {
  readonly reason: string
  readonly fix: string
  constructor(reason: string, fix: string) {
    super(`${reason}: ${fix}`)
    this.reason = reason
    this.fix = fix
  }
}

/** A file that was read before is unavailable: its operations must not disappear. */
export class RequiredFileError extends Error {}

export interface LoadLimits {
  readonly maxFiles: number
  /** All files together, without the document. */
  readonly maxBytes: number
  /** Number of files from the document to the last one. */
  readonly maxDepth: number
  readonly timeoutMs: number
}

const DEFAULT_LIMITS: LoadLimits = {
  maxFiles: 1000,
  maxBytes: MAX_DOCUMENT_BYTES,
  maxDepth: 32,
  timeoutMs: 60_000,
}
const CONCURRENT_READS = 8

export class FileLoader {
  readonly files: { [uri: string]: GivenFile } = {}
  /** Addresses that were requested from the reader, in this order. */
  readonly requested: string[] = []
  /** A file could not be read, which may change. */
  failed = false
  readonly #reader: FileReader
  readonly #limits: LoadLimits
  #bytes = 0
  #depth = 0
  #endsAt: number | undefined

  constructor(reader: FileReader, limits: LoadLimits = DEFAULT_LIMITS) {
    this.#reader = reader
    this.#limits = limits
  }

  /**
   * Repeats the attempt with the files it named as missing.
   * @throws RequiredFileError
   */
  async run<T extends { readonly kind: string }>(
    attempt: (files: GivenFiles) => Promise<T | Incomplete>,
  ): Promise<Exclude<T, Incomplete>> {
    for (;;) {
      const outcome = await attempt(this.files)
      if (outcome.kind !== 'incomplete') return outcome as Exclude<T, Incomplete>
      this.#depth++
      await this.load((outcome as Incomplete).missing)
    }
  }

  get uri(): string {
    return this.#reader.uri
  }

  /** Every address has an entry in `files` afterwards. @throws RequiredFileError */
  async load(uris: readonly string[]): Promise<void> {
    this.#endsAt ??= performance.now() + this.#limits.timeoutMs
    const queue = [...uris]
    const work = async (): Promise<void> => {
      for (let uri = queue.shift(); uri !== undefined; uri = queue.shift())
        this.files[uri] = await this.#read(uri)
    }
    await Promise.all(Array.from({ length: CONCURRENT_READS }, work))
  }

  async #read(uri: string): Promise<GivenFile> {
    const { maxFiles, maxBytes, maxDepth, timeoutMs } = this.#limits
    const refusal = this.#reader.refusal(uri)
    if (refusal !== undefined) return refusal
    if (this.requested.length >= maxFiles) return beyond(`the document refers to more than ${maxFiles} files`)
    if (this.#depth > maxDepth)
      return beyond(`the chain of references to the file has more than ${maxDepth} references`)
    const tooLarge = `the referenced files are larger than ${maxBytes / 1e6} MB in total`
    if (this.#bytes > maxBytes) return beyond(tooLarge)
    if (performance.now() > this.#endsAt!) {
      this.failed = true
      return beyond(`reading the referenced files takes longer than ${timeoutMs / 1000} s`)
    }
    this.requested.push(uri)
    try {
      const file = await this.#reader.read(uri)
      this.#bytes += file.length
      return this.#bytes > maxBytes ? beyond(tooLarge) : file
    } catch (error) {
      if (error instanceof RequiredFileError) throw error
      this.failed = true
      if (error instanceof FileError) return { reason: error.reason, fix: error.fix }
      return { reason: error instanceof Error ? error.message : String(error), fix: this.#reader.fix }
    }
  }
}

function beyond(reason: string): GivenFile {
  return { reason, fix: 'join the files into one document with a bundler' }
}
