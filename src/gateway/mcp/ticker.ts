/** One timer for many: calls what is registered at a fixed rhythm and rests when nothing is. It knows no stream. */
import { inSlices } from './slices.ts'

export class Ticker<T> {
  readonly #items = new Set<T>()
  readonly #everyMs: number
  readonly #tick: (item: T, nowMs: number) => void
  readonly #now: () => number
  #timer: NodeJS.Timeout | undefined
  #running = false

  constructor(everyMs: number, tick: (item: T, nowMs: number) => void, now: () => number = Date.now) {
    this.#everyMs = everyMs
    this.#tick = tick
    this.#now = now
  }

  add(item: T): void {
    this.#items.add(item)
    this.#timer ??= setInterval(() => this.#run(), this.#everyMs).unref()
  }

  delete(item: T): void {
    this.#items.delete(item)
  }

  get size(): number {
    return this.#items.size
  }

  items(): IterableIterator<T> {
    return this.#items.values()
  }

  close(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #run(): void {
    if (this.#items.size === 0) return this.close()
    if (this.#running) return
    this.#running = true
    const nowMs = this.#now()
    void inSlices(this.#items, item => this.#tick(item, nowMs)).finally(() => {
      this.#running = false
    })
  }
}
