/** The requests that a backend of the tests has received, in order, and a wait for so many of them. */
export class RequestLog {
  /** Method and path, as they came. */
  readonly requests: string[] = []
  readonly #waiting: { readonly count: number; readonly resolve: () => void }[] = []

  add(request: string): void {
    this.requests.push(request)
    for (const { count, resolve } of this.#waiting) if (this.requests.length >= count) resolve()
  }

  /** Resolves when so many requests have come. */
  seen(count: number): Promise<void> {
    if (this.requests.length >= count) return Promise.resolve()
    return new Promise(resolve => {
      this.#waiting.push({ count, resolve })
    })
  }
}
