/** What stops a client: what was found, and what mends it. */

export class Fault extends Error {
  readonly found: string
  readonly mend: string

  constructor(found: string, mend: string) {
    super(`${found} ${mend}`)
    this.name = 'Fault'
    this.found = found
    this.mend = mend
  }
}

/** @throws Fault unless `holds` */
export function demand(holds: boolean, found: string, mend: string): asserts holds {
  if (!holds) throw new Fault(found, mend)
}
