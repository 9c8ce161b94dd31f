/** Caches responses by Idempotency-Key, returns them to retries, and evicts the oldest. */
import { BoundedMap } from '../../base/async/bounded-map.ts'
import { ShopProblem, shopInvalid } from './problem.ts'
import type { ShopResponse } from './request.ts'

const MAX_KEYS = 1000
const KEY = /^[A-Za-z0-9_-]{8,64}$/

export class Idempotency {
  readonly #responses = new BoundedMap<string, { readonly body: string; readonly response: ShopResponse }>(
    MAX_KEYS,
  )

  /**
   * Runs `act`, or returns its stored response.
   * @param scope keeps equal keys of different operations and resources apart.
   * @throws ShopProblem 400 for a malformed key, 422 when the key was used with another body. Errors thrown by `act` are not stored.
   */
  run(key: string, scope: string, input: unknown, act: () => ShopResponse): ShopResponse {
    if (!KEY.test(key)) {
      throw shopInvalid([
        { field: 'Idempotency-Key', message: 'must have 8 to 64 letters, digits, hyphens or underscores' },
      ])
    }
    const body = JSON.stringify(input)
    const place = `${scope} ${key}`
    const before = this.#responses.get(place)
    if (before === undefined) {
      const response = act()
      this.#cache(place, { body, response })
      return response
    }
    if (before.body !== body) {
      const detail = 'This Idempotency-Key was used with another body. Use a new key for a new request.'
      throw new ShopProblem(422, 'key-reused', 'The Idempotency-Key was used before.', detail)
    }
    return { ...before.response, headers: { ...before.response.headers, 'idempotent-replayed': 'true' } }
  }

  #cache(place: string, entry: { readonly body: string; readonly response: ShopResponse }): void {
    // a copy: the record in the response may change later
    this.#responses.set(place, { ...entry, response: structuredClone(entry.response) })
  }
}
