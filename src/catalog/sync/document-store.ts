/** Stores the last valid document of each tool-set, so that its tools are served after a restart while the source is unavailable. It stores no credential. */

import { createHash } from 'node:crypto'
import { mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isObject } from '../../model/is-object.ts'
import type { OnDamage } from '../../shared/fs/damage.ts'
import { fileNameOf } from './resource-key.ts'
import { writeWhole } from './write-whole.ts'

interface StoredDocument {
  readonly url: string
  readonly etag: string | undefined
  readonly bytes: Uint8Array
}

const NEWLINE = 0x0a

/** One file for each document: a JSON line with its URL, ETag and SHA-256, then its bytes. */
export class DocumentStore {
  readonly #directory: string
  readonly #onDamage: OnDamage

  constructor(dataDir: string, onDamage: OnDamage) {
    this.#directory = join(dataDir, 'documents')
    this.#onDamage = onDamage
  }

  /** undefined when the file is missing, damaged or of another URL. */
  async read(namespace: string, name: string, url: string): Promise<StoredDocument | undefined> {
    const file = this.#file(namespace, name)
    try {
      const content = await readFile(file)
      const end = content.indexOf(NEWLINE)
      const head: unknown = JSON.parse(content.toString('utf8', 0, end))
      const bytes = content.subarray(end + 1)
      if (!isObject(head) || head.check !== checkOf(head.url, head.etag, bytes))
        throw new Error('the content differs from its checksum')
      if (head.url !== url) return undefined
      return { url, etag: typeof head.etag === 'string' ? head.etag : undefined, bytes }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
        this.#onDamage(file, 'its tools are unavailable until the document has been fetched again')
      return undefined
    }
  }

  async write(namespace: string, name: string, { url, etag, bytes }: StoredDocument): Promise<void> {
    await mkdir(this.#directory, { recursive: true })
    await writeWhole(this.#file(namespace, name), [
      `${JSON.stringify({ url, etag, check: checkOf(url, etag, bytes) })}\n`,
      bytes,
    ])
  }

  async remove(namespace: string, name: string): Promise<void> {
    await rm(this.#file(namespace, name), { force: true })
  }

  #file(namespace: string, name: string): string {
    return join(this.#directory, fileNameOf({ namespace, name }, 'document'))
  }
}

function checkOf(url: unknown, etag: unknown, bytes: Uint8Array): string {
  return createHash('sha256')
    .update(JSON.stringify([url, etag ?? null]))
    .update(bytes)
    .digest('hex')
}
