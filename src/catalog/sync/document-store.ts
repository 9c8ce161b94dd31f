/** The last good document of each tool-set on disk, so that a restart without its source still serves the last Ready tools. It holds no credential. */

import { createHash } from 'node:crypto'
import { mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isObject } from '../../model/is-object.ts'
import { writeWhole } from './write-whole.ts'

export interface StoredDocument {
  readonly url: string
  readonly etag: string | undefined
  readonly bytes: Uint8Array
}

const NEWLINE = 0x0a

/** One file for each document: a line of JSON that says where it came from, then its bytes. */
export class DocumentStore {
  readonly #directory: string

  constructor(dataDir: string) {
    this.#directory = join(dataDir, 'documents')
  }

  /** undefined when nothing (or nothing whole) is stored. */
  async read(namespace: string, name: string, url: string): Promise<StoredDocument | undefined> {
    try {
      const content = await readFile(this.#file(namespace, name))
      const end = content.indexOf(NEWLINE)
      const head: unknown = JSON.parse(content.toString('utf8', 0, end))
      if (!isObject(head) || head.url !== url) return undefined
      const etag = typeof head.etag === 'string' ? head.etag : undefined
      return { url, etag, bytes: content.subarray(end + 1) }
    } catch {
      // Absent or damaged: the source is asked as if for the first time.
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
    const key = createHash('sha256').update(`${namespace}/${name}`).digest('hex').slice(0, 16)
    return join(this.#directory, `${namespace}.${name.slice(0, 80)}.${key}.document`)
  }
}
