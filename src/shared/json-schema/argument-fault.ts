/** One fault of the arguments of a call, as a validator reports it. */

export interface ArgumentFault {
  /** JSON Pointer into the arguments, '' for the whole. */
  readonly path: string
  readonly message: string
}
