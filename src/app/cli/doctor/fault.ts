/** The reason why a client cannot connect, and its fix, as an error, and a check that throws it. */

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
