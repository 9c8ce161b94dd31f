/** What keeps a gateway from being wholly well, by the part that says so. It judges nothing and logs nothing. */

export class Conditions {
  readonly #faults = new Map<string, string>()

  /** @param fault for operators, without secrets; undefined = the part is well (again) */
  set(part: string, fault: string | undefined): void {
    if (fault === undefined) this.#faults.delete(part)
    else this.#faults.set(part, fault)
  }

  /** All faults in one text; undefined when there are none. */
  get summary(): string | undefined {
    return this.#faults.size === 0 ? undefined : [...this.#faults.values()].join('; ')
  }
}
