/** A timer that visits registered items repeatedly, and stops while none is registered. */

import { Chain, type Linked } from '../../../base/async/chain.ts'
import { inSlices } from '../../../base/async/slices.ts'

/**
 * What can be registered carries its own place in the list. V8 reallocates the table of a Set after many calls, in the old generation
 * once one was there, and a dead table there keeps alive what was in it: 1.8 KB of each call became old.
 */
export interface Ticked extends Linked {
  /** False at first; afterwards the ticker's to write. */
  ticking: boolean
}

export class Ticker<T extends Ticked> {
  readonly #everyMs: number
  readonly #tick: (item: T, nowMs: number) => void
  readonly #now: () => number
  readonly #chain = new Chain<T>()
  #size = 0
  #timer: NodeJS.Timeout | undefined
  #running = false

  constructor(everyMs: number, tick: (item: T, nowMs: number) => void, now: () => number = Date.now) {
    this.#everyMs = everyMs
    this.#tick = tick
    this.#now = now
  }

  add(item: T): void {
    if (item.ticking) return
    item.ticking = true
    this.#chain.append(item)
    this.#size++
    if (this.#timer === undefined) this.#start()
  }

  /** Apart: a method with a closure allocates a scope whenever it is called. */
  #start(): void {
    this.#timer = setInterval(() => this.#run(), this.#everyMs).unref()
  }

  delete(item: T): void {
    if (!item.ticking) return
    this.#chain.remove(item)
    item.ticking = false
    this.#size--
  }

  get size(): number {
    return this.#size
  }

  /** As they are now, in the order of registering. */
  items(): T[] {
    return this.#chain.items()
  }

  close(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #run(): void {
    if (this.#size === 0) return this.close()
    if (this.#running) return
    this.#running = true
    const nowMs = this.#now()
    const visit = (item: T): void => {
      if (item.ticking) this.#tick(item, nowMs)
    }
    void inSlices(this.items(), visit).finally(() => {
      this.#running = false
    })
  }
}
