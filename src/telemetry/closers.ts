/** Closes the registered parts of a process, the last one first, and logs those that cannot be closed. */
import type { Log } from './log.ts'

interface Item {
  readonly name: string
  readonly close: () => void | Promise<void>
}

export class Closers {
  readonly #log: Log
  readonly #items: Item[] = []
  #closing = false

  constructor(log: Log) {
    this.#log = log
  }

  /** Closed at once when the others are closed already: a start that is stopped goes on until its next step. */
  add(name: string, close: Item['close']): void {
    if (this.#closing) void this.#close({ name, close })
    else this.#items.push({ name, close })
  }

  async close(): Promise<void> {
    this.#closing = true
    for (const item of this.#items.splice(0).reverse()) await this.#close(item)
  }

  async #close({ name, close }: Item): Promise<void> {
    try {
      await close()
    } catch (error) {
      this.#log.error({ err: error, part: name }, 'a component of the process could not be closed')
    }
  }
}
