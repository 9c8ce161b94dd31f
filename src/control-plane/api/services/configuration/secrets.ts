/** Holds the secret values that were sent with a configuration, and notes the missing ones. */

export class Secrets {
  readonly #values: { readonly [name: string]: string }
  readonly #missing = new Set<string>()

  constructor(values: { readonly [name: string]: string }) {
    this.#values = values
  }

  /** undefined when the caller has sent no such value. */
  given(name: string): string | undefined {
    return Object.hasOwn(this.#values, name) ? this.#values[name] : undefined
  }

  /** The value of a name that the change needs; notes names without one. */
  needed(name: string): string | undefined {
    const value = this.given(name)
    if (value === undefined) this.#missing.add(name)
    return value
  }

  /** Names that were needed and not given. */
  get missing(): readonly string[] {
    return [...this.#missing].sort()
  }
}
