/** Stores the last valid document of each tool-set, so that its tools are served after a restart while the source is unavailable. It stores no credential. */

import { mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isObject } from '../../model/is-object.ts'
import { fileNameOf } from './resource-key.ts'
import { writeWhole } from './write-whole.ts'

interface StoredDocument {
  readonly url: string
  readonly etag: string | undefined
  readonly bytes: Uint8Array
}

const NEWLINE = 0x0a

/** One file for each document: a JSON line with its URL and ETag, then its bytes. */
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
      const etag = typeof head.etag === 'string' ? head.etag : undefined
      return { url, etag, bytes: content.subarray(end + 1) }
    } catch {
      // Missing or damaged: the document is fetched without condition.
      return undefined
    }
  }

  async write(namespace: string, name: string, { url, etag, bytes }: StoredDocument): Promise<void> {
    await mkdir(this.#directory, { recursive: true })
    await writeWhole(this.#file(namespace, name), [`${JSON.stringify({ url, etag })}\n`, bytes])
  }

  async remove(namespace: string, name: string): Promise<void> {
    await rm(this.#file(namespace, name), { force: true })
  }

  #file(namespace: string, name: string): string {
    return join(this.#directory, fileNameOf({ namespace, name }, 'document'))
  }
}
