/** A clock that parts of a thread share and that tests may advance (`TEST_HOOKS`). */

export class Clock {
  #offsetMs = 0
  readonly #listeners: ((ms: number) => void)[] = []

  /** Unix ms. */
  readonly now = (): number => Date.now() + this.#offsetMs

  readonly advance = (ms: number): void => {
    this.#offsetMs += ms
    for (const listener of this.#listeners) listener(ms)
  }

  /** For parts with a separate clock. */
  onAdvance(listener: (ms: number) => void): void {
    this.#listeners.push(listener)
  }
}
