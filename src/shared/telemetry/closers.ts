/** What has been started, to be closed in reverse. One that fails to close is logged and does not keep the others open. */
import type { Log } from './log.ts'

export class Closers {
  readonly #log: Log
  readonly #items: { readonly name: string; readonly close: () => void | Promise<void> }[] = []

  constructor(log: Log) {
    this.#log = log
  }

  add(name: string, close: () => void | Promise<void>): void {
    this.#items.push({ name, close })
  }

  async close(): Promise<void> {
    for (const { name, close } of this.#items.splice(0).reverse()) {
      try {
        await close()
      } catch (error) {
        this.#log.error({ err: error, part: name }, 'could not be closed')
      }
    }
  }
}
