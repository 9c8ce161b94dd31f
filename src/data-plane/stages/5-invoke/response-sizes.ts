/** Predicts which tools respond with much, so that a call is refused before its backend is called when its response would exceed `HELD_BYTES_MAX`. */
import type { Tool } from '../../../model/tool.ts'

/** Shorter responses are not predicted. */
const MIN_BYTES = 256 * 1024

/** Body bytes of the last responses. */
type Last = readonly [number, number, number]

export class ResponseSizes {
  /** Tools of which a response was long. */
  readonly #last = new WeakMap<Tool, Last>()
  /** False saves other tools the search. */
  #isUsed = false

  /** The least of the last three responses; 0 when it is short. */
  expectedBytes(tool: Tool): number {
    const last = this.#isUsed ? this.#last.get(tool) : undefined
    const least = last === undefined ? 0 : Math.min(...last)
    return least < MIN_BYTES ? 0 : least
  }

  note(tool: Tool, bytes: number): void {
    if (bytes < MIN_BYTES && !this.#isUsed) return
    const [, second, third] = this.#last.get(tool) ?? NONE
    if (bytes < MIN_BYTES && second < MIN_BYTES && third < MIN_BYTES) return void this.#last.delete(tool)
    this.#isUsed = true
    this.#last.set(tool, [second, third, bytes])
  }
}

const NONE: Last = [0, 0, 0]
