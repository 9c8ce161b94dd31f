/** The result of a life-cycle move, and the check of a move against a table. */

/** An illegal move is a value, not an exception: callers respond with 409 and `reason`. */
export type Transition<T> =
  | { readonly ok: true; readonly value: T; readonly changed: boolean }
  | { readonly ok: false; readonly reason: string }

export function moved<T>(value: T): Transition<T> {
  return { ok: true, value, changed: true }
}

/** The value is already in that state: legal, and there is nothing to store or to publish. */
export function unchanged<T>(value: T): Transition<T> {
  return { ok: true, value, changed: false }
}

export function illegal<T>(reason: string): Transition<T> {
  return { ok: false, reason }
}

/** Checks a move against a table of legal ones and returns the new state inside `value`. */
export function moveStatus<S extends string, T extends { readonly status: S }>(
  what: string,
  moves: { readonly [from in S]: readonly S[] },
  value: T,
  to: S,
): Transition<T> {
  if (value.status === to) return unchanged(value)
  if (!moves[value.status].includes(to)) {
    return illegal(`${what} that is ${value.status} cannot become ${to}.`)
  }
  return moved({ ...value, status: to })
}
