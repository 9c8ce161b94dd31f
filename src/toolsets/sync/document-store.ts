/** The last good document of each tool-set on disk, so that a restart without its source still serves the last Ready tools. It holds no credential. */
import { createHash } from 'node:crypto'
import { mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isDict } from '../compile/dict.ts'
import { writeWhole } from './write-whole.ts'

export interface StoredDocument {
  readonly url: string
  readonly etag: string | undefined
  readonly text: string
}

export class DocumentStore {
  readonly #directory: string

  constructor(dataDir: string) {
    this.#directory = join(dataDir, 'documents')
  }

  /** undefined when nothing (or nothing whole) is stored. */
  async read(namespace: string, name: string, url: string): Promise<StoredDocument | undefined> {
    try {
      const value: unknown = JSON.parse(await readFile(this.#file(namespace, name), 'utf8'))
      if (!isDict(value) || value.url !== url || typeof value.text !== 'string') return undefined
      return { url, etag: typeof value.etag === 'string' ? value.etag : undefined, text: value.text }
    } catch {
      // Absent or damaged: the source is asked as if for the first time.
      return undefined
    }
  }

  async write(namespace: string, name: string, document: StoredDocument): Promise<void> {
    await mkdir(this.#directory, { recursive: true })
    await writeWhole(this.#file(namespace, name), JSON.stringify(document))
  }

  async remove(namespace: string, name: string): Promise<void> {
    await rm(this.#file(namespace, name), { force: true })
  }

  #file(namespace: string, name: string): string {
    const key = createHash('sha256').update(`${namespace}/${name}`).digest('hex').slice(0, 16)
    return join(this.#directory, `${namespace}.${name.slice(0, 80)}.${key}.json`)
  }
}
