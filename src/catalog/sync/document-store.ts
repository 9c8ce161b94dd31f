/** Stores documents that tool sets read over the network, with the files that the documents refer to. */

import { createHash } from 'node:crypto'
import { mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileSystemError, type OnDamage } from '../../base/fs/damage.ts'
import { isMissing } from '../../base/fs/missing.ts'
import { fileNameOf } from './resource-key.ts'
import { writeWhole } from './write-whole.ts'

export interface StoredFile {
  readonly etag: string | undefined
  readonly bytes: Uint8Array
}

export interface StoredDocument extends StoredFile {
  readonly url: string
  /** The files that the document refers to, by address. */
  readonly files: ReadonlyMap<string, StoredFile>
}

interface Head {
  readonly url: string
  readonly etag?: string
  readonly bytes: number
  readonly files: readonly { readonly uri: string; readonly etag?: string; readonly bytes: number }[]
}

const NEWLINE = 0x0a

/** One file for each document: SHA-256 of the rest, a JSON line with URL, ETag and files, then the bytes of the document and of each file. */
export class DocumentStore {
  readonly #directory: string
  readonly #onDamage: OnDamage

  constructor(dataDir: string, onDamage: OnDamage) {
    this.#directory = join(dataDir, 'documents')
    this.#onDamage = onDamage
  }

  /** undefined when the file is missing, damaged, not readable or of another URL. */
  async read(namespace: string, name: string, url: string): Promise<StoredDocument | undefined> {
    const file = this.#file(namespace, name)
    try {
      const content = await readFile(file)
      const rest = content.subarray(content.indexOf(NEWLINE) + 1)
      if (content.toString('latin1', 0, content.length - rest.length) !== `${checkOf([rest])}\n`)
        throw new Error('the content differs from its checksum')
      const end = rest.indexOf(NEWLINE)
      const head = JSON.parse(rest.toString('utf8', 0, end)) as Head
      const bytes = rest.subarray(end + 1)
      if (head.url !== url) return undefined
      const files = new Map<string, StoredFile>()
      let at = head.bytes
      const stored = { url, etag: head.etag, bytes: bytes.subarray(0, at), files }
      for (const { uri, etag, bytes: length } of head.files) {
        files.set(uri, { etag, bytes: bytes.subarray(at, at + length) })
        at += length
      }
      return stored
    } catch (error) {
      if (!isMissing(error))
        this.#onDamage(
          file,
          'the tools generated from this file are unavailable until the gateway has fetched the document again',
          fileSystemError(error),
        )
      return undefined
    }
  }

  async write(namespace: string, name: string, document: StoredDocument): Promise<void> {
    const { url, etag, bytes } = document
    const files = [...document.files].map(([uri, file]) => ({
      uri,
      etag: file.etag,
      bytes: file.bytes.length,
    }))
    const head = JSON.stringify({ url, etag, bytes: bytes.length, files })
    await mkdir(this.#directory, { recursive: true })
    const parts = [`${head}\n`, bytes, ...[...document.files.values()].map(file => file.bytes)]
    await writeWhole(this.#file(namespace, name), [`${checkOf(parts)}\n`, ...parts])
  }

  async remove(namespace: string, name: string): Promise<void> {
    await rm(this.#file(namespace, name), { force: true })
  }

  #file(namespace: string, name: string): string {
    return join(this.#directory, fileNameOf({ namespace, name }, 'document'))
  }
}

function checkOf(parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('hex')
}

export function isSameDocument(a: StoredDocument, b: StoredDocument): boolean {
  const isSameFile = (x: StoredFile | undefined, y: StoredFile): boolean =>
    x !== undefined && x.etag === y.etag && Buffer.compare(x.bytes, y.bytes) === 0
  return (
    isSameFile(a, b) &&
    a.files.size === b.files.size &&
    [...b.files].every(([uri, file]) => isSameFile(a.files.get(uri), file))
  )
}
