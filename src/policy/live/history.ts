/** Keeps bundles that were in force in files, and reads them by revision. */
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SerialQueue } from '../../base/async/serial-queue.ts'
import { namesIn, unlessMissing } from '../../base/fs/missing.ts'

export interface KeptBundle {
  readonly revision: string
  /** Unix ms: when it was put in force, the last time. */
  readonly since: number
}

const KEPT = 20
const FILE = /^(\d{1,15})-([\w.-]{1,64})\.tar\.gz$/

export class BundleHistory {
  readonly #dir: string
  readonly #changes = new SerialQueue()

  constructor(dir: string) {
    this.#dir = dir
  }

  /** Keeps a bundle under its revision, once, and deletes the oldest beyond the limit. One whose revision does not fit a file name is left out. */
  keep({ revision, since }: KeptBundle, bundle: Uint8Array): Promise<void> {
    return this.#changes.run(async () => {
      const name = `${since}-${revision}.tar.gz`
      if (!FILE.test(name)) return
      await mkdir(this.#dir, { recursive: true })
      await writeFile(join(this.#dir, `${name}.part`), bundle)
      await rename(join(this.#dir, `${name}.part`), join(this.#dir, name))
      const older = (await this.#files()).filter(file => file.name !== name)
      const superseded = older.filter((file, at) => file.revision === revision || at >= KEPT - 1)
      for (const file of superseded) await rm(join(this.#dir, file.name), { force: true })
    })
  }

  /**
   * The newest first, each revision once: while it is kept again, and after a kill in between, its older file is there too.
   * @throws Error naming the folder and the fix, as every method here
   */
  async list(): Promise<readonly KeptBundle[]> {
    const files = await this.#files()
    return files
      .filter(({ revision }, at) => files.findIndex(file => file.revision === revision) === at)
      .map(({ revision, since }) => ({ revision, since }))
  }

  /** undefined when it is not kept. */
  async read(revision: string): Promise<Uint8Array | undefined> {
    const found = (await this.#files()).find(file => file.revision === revision)
    return found && this.#readOrWarn(unlessMissing(readFile(join(this.#dir, found.name))))
  }

  async #files(): Promise<readonly (KeptBundle & { readonly name: string })[]> {
    const names = await this.#readOrWarn(namesIn(this.#dir))
    return names
      .flatMap(name => {
        const [, since, revision] = FILE.exec(name) ?? []
        return revision === undefined ? [] : [{ name, revision, since: Number(since) }]
      })
      .sort((a, b) => b.since - a.since)
  }

  /** A history that cannot be read is not an empty one. */
  async #readOrWarn<T>(work: Promise<T>): Promise<T> {
    try {
      return await work
    } catch (error) {
      const { message } = error as Error
      throw new Error(
        `The history of the policy in ${this.#dir} cannot be read (${message}). Check the disk and the permissions of this folder.`,
      )
    }
  }
}
