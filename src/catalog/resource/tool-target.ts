/** The generated tools that a Tool resource may change, as far as it can be read. */

/** undefined: any, because the resource does not say it readably. */
export interface ToolTarget {
  readonly namespace: string | undefined
  readonly name: string | undefined
}
