/** The clock of a deployment, which tests may move forward (`TEST_HOOKS`). It never steps back by itself. */

export class Clock {
  #offsetMs = 0
  readonly #listeners: ((ms: number) => void)[] = []

  /** Unix ms. */
  readonly now = (): number => Date.now() + this.#offsetMs

  readonly advance = (ms: number): void => {
    this.#offsetMs += ms
    for (const listener of this.#listeners) listener(ms)
  }

  /** For parts that keep a time of their own. */
  onAdvance(listener: (ms: number) => void): void {
    this.#listeners.push(listener)
  }
}
