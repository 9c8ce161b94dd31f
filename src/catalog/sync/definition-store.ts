/** Ledgers of definitions on disk, one file for each tool-set: a change is noticed across restarts too. */

import { createHash } from 'node:crypto'
import { mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isObject } from '../../model/is-object.ts'
import type { Ledger } from './definitions.ts'
import { writeWhole } from './write-whole.ts'

export class DefinitionStore {
  readonly #directory: string

  constructor(dataDir: string) {
    this.#directory = join(dataDir, 'definitions')
  }

  /** undefined when there is none, or none that can be read. */
  async read(namespace: string, name: string): Promise<Ledger | undefined> {
    try {
      const value: unknown = JSON.parse(await readFile(this.#file(namespace, name), 'utf8'))
      const isLedger =
        isObject(value) &&
        isObject(value.tools) &&
        Array.isArray(value.changed) &&
        Array.isArray(value.breaking)
      return isLedger ? (value as unknown as Ledger) : undefined
    } catch {
      return undefined
    }
  }

  async write(namespace: string, name: string, ledger: Ledger): Promise<void> {
    await mkdir(this.#directory, { recursive: true })
    await writeWhole(this.#file(namespace, name), JSON.stringify(ledger))
  }

  async remove(namespace: string, name: string): Promise<void> {
    await rm(this.#file(namespace, name), { force: true })
  }

  #file(namespace: string, name: string): string {
    const key = createHash('sha256').update(`${namespace}/${name}`).digest('hex').slice(0, 16)
    return join(this.#directory, `${namespace}.${name.slice(0, 80)}.${key}.json`)
  }
}
