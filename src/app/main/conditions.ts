/** The faults that degrade a gateway, by part. It logs nothing. */

export class Conditions {
  readonly #faults = new Map<string, string>()
  readonly #listeners: ((part: string, fault: string | undefined) => void)[] = []

  /** @param fault for operators, without secrets; undefined: the part works (again) */
  set(part: string, fault: string | undefined): void {
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

  /** All faults in one text; undefined when there are none. */
  get summary(): string | undefined {
    return this.#faults.size === 0 ? undefined : [...this.#faults.values()].join('; ')
  }
}
