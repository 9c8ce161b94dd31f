/** One fault of the arguments of a call, and the ways in which a check ends. Types only. */

export interface ArgumentFault {
  /** JSON Pointer into the arguments, '' for the whole. */
  readonly path: string
  readonly message: string
}

/**
 * Faults, empty when the arguments fit; `overloaded` when too many checks are pending, `too_expensive` when this one did not end in
 * time.
 */
export type CheckOutcome = readonly ArgumentFault[] | 'overloaded' | 'too_expensive'
