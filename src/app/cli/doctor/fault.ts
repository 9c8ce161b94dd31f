/** What stops a client: what was found, and what mends it. */

export class Fault extends Error {
  readonly found: string
  readonly fix: string

  constructor(found: string, fix: string) {
    super(`${found} ${fix}`)
    this.name = 'Fault'
    this.found = found
    this.fix = fix
  }
}

/** @throws Fault unless `holds` */
export function demand(holds: boolean, found: string, fix: string): asserts holds {
  if (!holds) throw new Fault(found, fix)
}
