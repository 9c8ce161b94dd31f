/** Stores the last valid document of each tool-set, so that its tools are served after a restart while the source is unavailable. It stores no credential. */

import { mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isObject } from '../../model/is-object.ts'
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

const NEWLINE = 0x0a

/** One file for each document: a JSON line with URL, ETag and files, then the bytes of the document and of each file. */
export class DocumentStore {
  readonly #directory: string

  constructor(dataDir: string) {
    this.#directory = join(dataDir, 'documents')
  }

  /** undefined when the file is missing, damaged or of another URL. */
  async read(namespace: string, name: string, url: string): Promise<StoredDocument | undefined> {
    try {
      const content = await readFile(this.#file(namespace, name))
      const end = content.indexOf(NEWLINE)
      const head: unknown = JSON.parse(content.toString('utf8', 0, end))
      if (!isObject(head) || head.url !== url) return undefined
      const bytes = content.subarray(end + 1)
      const files = new Map<string, StoredFile>()
      let at = typeof head.bytes === 'number' ? head.bytes : bytes.length
      const document = { url, etag: textOf(head.etag), bytes: bytes.subarray(0, at), files }
      for (const file of Array.isArray(head.files) ? head.files : []) {
        files.set(file.uri, { etag: textOf(file.etag), bytes: bytes.subarray(at, at + file.bytes) })
        at += file.bytes
      }
      return at === bytes.length ? document : undefined
    } catch {
      // Missing or damaged: the document is fetched without condition.
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
    const parts = [...document.files.values()].map(file => file.bytes)
    await writeWhole(this.#file(namespace, name), [`${head}\n`, bytes, ...parts])
  }

  async remove(namespace: string, name: string): Promise<void> {
    await rm(this.#file(namespace, name), { force: true })
  }

  #file(namespace: string, name: string): string {
    return join(this.#directory, fileNameOf({ namespace, name }, 'document'))
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
