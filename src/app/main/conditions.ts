/** The faults that degrade a process or one of its threads, by part. */

export class Conditions {
  readonly #faults = new Map<string, string>()
  /** Every part that has ever been set: its metric returns to 0. */
  readonly #parts = new Set<string>()
  readonly #listeners: ((part: string, fault: string | undefined) => void)[] = []

  /** @param fault for operators, without secrets; undefined: the part works (again) */
  set(part: string, fault: string | undefined): void {
    this.#parts.add(part)
    if (fault === undefined) this.#faults.delete(part)
    else this.#faults.set(part, fault)
    for (const listener of this.#listeners) listener(part, fault)
  }

  onChange(listener: (part: string, fault: string | undefined) => void): void {
    this.#listeners.push(listener)
  }

  /** Pairs of part and fault. */
  get all(): readonly (readonly [string, string])[] {
    return [...this.#faults]
  }

  /** Parts that have a fault. */
  get parts(): readonly string[] {
    return [...this.#faults.keys()]
  }

  /** Pairs of part and whether it has a fault. */
  get states(): readonly (readonly [string, boolean])[] {
    return [...this.#parts].map(part => [part, this.#faults.has(part)])
  }

  /** All faults in one text; undefined when there are none. */
  get summary(): string | undefined {
    return this.#faults.size === 0 ? undefined : [...this.#faults.values()].join('; ')
  }
}
