/** Stores the definitions of each tool-set in a file, so that changes are detected across restarts. It compares nothing. */

import { mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isObject } from '../../model/is-object.ts'
import type { DefinitionRecord } from './definitions.ts'
import { fileNameOf } from './resource-key.ts'
import { writeWhole } from './write-whole.ts'

export class DefinitionStore {
  readonly #directory: string

  constructor(dataDir: string) {
    this.#directory = join(dataDir, 'definitions')
  }

  /** undefined when the file is missing or damaged. */
  async read(namespace: string, name: string): Promise<DefinitionRecord | undefined> {
    try {
      const value: unknown = JSON.parse(await readFile(this.#file(namespace, name), 'utf8'))
      const isLedger =
        isObject(value) &&
        isObject(value.tools) &&
        Array.isArray(value.changed) &&
        Array.isArray(value.breaking)
      return isLedger ? (value as unknown as DefinitionRecord) : undefined
    } catch {
      return undefined
    }
  }

  async write(namespace: string, name: string, ledger: DefinitionRecord): Promise<void> {
    await mkdir(this.#directory, { recursive: true })
    await writeWhole(this.#file(namespace, name), JSON.stringify(ledger))
  }

  async remove(namespace: string, name: string): Promise<void> {
    await rm(this.#file(namespace, name), { force: true })
  }

  #file(namespace: string, name: string): string {
    return join(this.#directory, fileNameOf({ namespace, name }, 'json'))
  }
}
