/** Writes and removes the status files of tool sets and ToolViews, and reads which tool sets served tools before a restart. */

import { mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'
import { fileSystemError, type OnDamage } from '../../base/fs/damage.ts'
import { namesIn } from '../../base/fs/missing.ts'
import { isObject } from '../../base/json/is-object.ts'
import type { ToolViewStatus } from '../../model/tool-view.ts'
import type { StatusWriter } from '../reconcile.ts'
import type { ResourceName } from '../sync/resource-key.ts'
import { writeWhole } from '../sync/write-whole.ts'
import type { ViewStatusWriter } from '../views/view-book.ts'

/** Names are formatted without the library, which takes 0.1 s for 20,000 names. */
function textOf({ tools, ...rest }: { readonly tools: readonly string[] }): string {
  const names =
    tools.length === 0 ? ' []\n' : `\n${tools.map(name => `  - ${JSON.stringify(name)}\n`).join('')}`
  return `${stringify(rest, { lineWidth: 0 })}tools:${names}`
}

/** About a tool set whose status cannot be read. */
const ASSUMED =
  'if its tool set shares a tool name with another tool set, the gateway may serve the tool of the other tool set'

export class StatusFiles implements StatusWriter {
  readonly #directory: string
  readonly #onDamage: OnDamage

  constructor(dataDir: string, onDamage: OnDamage) {
    this.#directory = join(dataDir, 'status')
    this.#onDamage = onDamage
  }

  async write(
    { namespace, name }: { namespace: string; name: string },
    status: Parameters<StatusWriter['write']>[1],
  ): Promise<void> {
    const directory = join(this.#directory, namespace)
    await mkdir(directory, { recursive: true })
    await writeWhole(join(directory, `${name}.yaml`), textOf(status))
  }

  async remove({ namespace, name }: { namespace: string; name: string }): Promise<void> {
    await rm(join(this.#directory, namespace, `${name}.yaml`), { force: true })
  }

  /** Keys of tool sets that served tools when the process last ended; they keep their names in a conflict. */
  async servedFiles(): Promise<ReadonlySet<string>> {
    const keys = new Set<string>()
    for (const namespace of await this.#readable(this.#directory)) {
      for (const file of await this.#readable(join(this.#directory, namespace))) {
        if (!file.endsWith('.yaml')) continue
        const path = join(this.#directory, namespace, file)
        const { toolCount, error } = await readStatus(path)
        if (toolCount === undefined) this.#onDamage(path, ASSUMED, error)
        else if (toolCount > 0) keys.add(`${namespace}/${file.slice(0, -5)}`)
      }
    }
    return keys
  }

  /** The rest of the statuses, and the tool sets, are independent of a folder that cannot be read. */
  async #readable(folder: string): Promise<readonly string[]> {
    try {
      return await namesIn(folder)
    } catch (error) {
      this.#onDamage(folder, ASSUMED, fileSystemError(error))
      return []
    }
  }

  /** Deletes the files of other tool sets. @throws Error of the file system */
  async keepOnly(keys: ReadonlySet<string>): Promise<void> {
    await keepFiles(this.#directory, keys)
  }
}

/** The same for ToolViews, below `<DATA_DIR>/view-status/`. */
export class ViewStatusFiles implements ViewStatusWriter {
  readonly #directory: string

  constructor(dataDir: string) {
    this.#directory = join(dataDir, 'view-status')
  }

  async write({ namespace, name }: ResourceName, status: ToolViewStatus): Promise<void> {
    const directory = join(this.#directory, namespace)
    await mkdir(directory, { recursive: true })
    await writeWhole(join(directory, `${name}.yaml`), textOf(status))
  }

  async remove({ namespace, name }: ResourceName): Promise<void> {
    await rm(join(this.#directory, namespace, `${name}.yaml`), { force: true })
  }

  async keepOnly(keys: ReadonlySet<string>): Promise<void> {
    await keepFiles(this.#directory, keys)
  }
}

async function keepFiles(folder: string, keys: ReadonlySet<string>): Promise<void> {
  for (const namespace of await namesIn(folder)) {
    for (const file of await namesIn(join(folder, namespace))) {
      const key = `${namespace}/${file.replace(/\.yaml$/, '')}`
      if (!keys.has(key)) await rm(join(folder, namespace, file), { force: true })
    }
  }
}

/** The count is undefined for a file that is damaged or cannot be read; only the latter has an error. */
async function readStatus(
  path: string,
): Promise<{ readonly toolCount?: number; readonly error?: NodeJS.ErrnoException | undefined }> {
  try {
    const status: unknown = parse(await readFile(path, 'utf8'), { logLevel: 'silent' })
    return isObject(status) && typeof status.toolCount === 'number' ? { toolCount: status.toolCount } : {}
  } catch (error) {
    return { error: fileSystemError(error) }
  }
}
