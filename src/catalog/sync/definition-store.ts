/** Stores the definitions of the tools of a tool set in a file. */

import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { readLines, replaceLines } from '../../base/fs/checked-lines.ts'
import { fileSystemError, type OnDamage } from '../../base/fs/damage.ts'
import { isObject } from '../../base/json/is-object.ts'
import type { DefinitionRecord } from './definitions.ts'
import { fileNameOf } from './resource-key.ts'

export class DefinitionStore {
  readonly #directory: string
  readonly #onDamage: OnDamage

  constructor(dataDir: string, onDamage: OnDamage) {
    this.#directory = join(dataDir, 'definitions')
    this.#onDamage = onDamage
  }

  /** undefined when the file is missing, damaged or not readable. */
  async read(namespace: string, name: string): Promise<DefinitionRecord | undefined> {
    const file = this.#file(namespace, name)
    let unreadable: NodeJS.ErrnoException | undefined
    try {
      const { lines, fault } = await readLines(file)
      if (fault === undefined) return lines[0] === undefined ? undefined : recordOf(lines[0])
    } catch (error) {
      unreadable = fileSystemError(error)
    }
    this.#onDamage(
      file,
      'the gateway cannot compare the tool definitions with those of the previous run, so it does not report changes made since then; it serves the current definitions',
      unreadable,
    )
    return undefined
  }

  async write(namespace: string, name: string, ledger: DefinitionRecord): Promise<void> {
    await mkdir(this.#directory, { recursive: true })
    await replaceLines(this.#file(namespace, name), [JSON.stringify(ledger)])
  }

  async remove(namespace: string, name: string): Promise<void> {
    await rm(this.#file(namespace, name), { force: true })
  }

  #file(namespace: string, name: string): string {
    return join(this.#directory, fileNameOf({ namespace, name }, 'json'))
  }
}

/** @throws Error when the line is not a record */
function recordOf(line: string): DefinitionRecord {
  const value: unknown = JSON.parse(line)
  const isRecord =
    isObject(value) && isObject(value.tools) && Array.isArray(value.changed) && Array.isArray(value.breaking)
  if (!isRecord) throw new Error('the line is not a record of tool definitions')
  return value as unknown as DefinitionRecord
}
