/** Marks the ended segments of a writer as complete, and retries after an error. */
import { completeSegment } from './growing-segment.ts'

const RETRY_AFTER_MS = 100

export class EndedSegments {
  readonly #directory: string
  readonly #onChange: () => void
  #keys: string[] = []
  #timer: NodeJS.Timeout | undefined
  #fault: Error | undefined

  /** @param onChange called when `fault` may have changed */
  constructor(directory: string, onChange: () => void) {
    this.#directory = directory
    this.#onChange = onChange
  }

  /** First of the errors since all had their final names. */
  get fault(): Error | undefined {
    return this.#fault
  }

  add(key: string): void {
    this.#keys.push(key)
    this.#complete()
  }

  /** Nothing is repeated after it. */
  close(): void {
    clearTimeout(this.#timer)
  }

  readonly #complete = (): void => {
    const left: string[] = []
    let fault: Error | undefined
    for (const key of this.#keys) {
      try {
        completeSegment(this.#directory, key)
      } catch (error) {
        left.push(key)
        fault = this.#fault ?? (error as Error)
      }
    }
    this.#keys = left
    this.#fault = fault
    clearTimeout(this.#timer)
    if (fault !== undefined) this.#timer = setTimeout(this.#complete, RETRY_AFTER_MS)
    this.#onChange()
  }
}
