/** A fault in a resource, and its text. */

/** One fault in a resource, for its author. */
export interface ResourceFault {
  /** Such as `spec.naming.prefix`. */
  readonly field: string
  readonly reason: string
  readonly fix: string
}

/** `field reason: fix` of all faults on one line. */
export function faultText(faults: readonly ResourceFault[]): string {
  return faults.map(fault => `${fault.field} ${fault.reason}: ${fault.fix}`).join('; ')
}
