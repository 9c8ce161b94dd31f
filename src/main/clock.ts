/** The clock of a deployment, which tests may move forward (`TEST_HOOKS`). It never steps back by itself. */

export class Clock {
  #offsetMs = 0

  /** Unix ms. */
  readonly now = (): number => Date.now() + this.#offsetMs

  readonly advance = (ms: number): void => {
    this.#offsetMs += ms
  }
}
