/** Rules between the fields of a spec: reads fields that may have any type, and reports faults with their path. */
import { isObject } from '../../base/json/is-object.ts'
import type { ResourceFault } from '../../model/resource-fault.ts'
import { fieldPath, readBySchema, unknownField } from '../../model/schema/read-resource.ts'
import type { z } from '../../model/schema/resource-fields.ts'
import { type Dict, own } from '../compile/dict.ts'

/**
 * Reads by the schema and by the rules between its fields, which see the value even where the schema refuses it.
 * @param faults gets what is wrong with the value
 * @returns undefined when there are faults
 */
export function readSpec<Schema extends z.ZodMiniType>(
  schema: Schema,
  given: unknown,
  path: string,
  faults: ResourceFault[],
  check: (spec: SpecPart) => void,
): z.output<Schema> | undefined {
  const read = readBySchema(schema, given, path)
  faults.push(...read.faults)
  check(new SpecPart(given, path, faults))
  return faults.length > 0 ? undefined : read.value
}

/** A part of a spec, before it is known whether the schema accepts it. */
export class SpecPart {
  readonly #value: Dict
  readonly #path: string
  readonly #faults: ResourceFault[]

  constructor(value: unknown, path: string, faults: ResourceFault[]) {
    this.#value = isObject(value) ? value : {}
    this.#path = path
    this.#faults = faults
  }

  /** null counts as absent. */
  get(name: string): unknown {
    return own(this.#value, name) ?? undefined
  }

  has(name: string): boolean {
    return this.get(name) !== undefined
  }

  get names(): readonly string[] {
    return Object.keys(this.#value).filter(name => this.has(name))
  }

  /** The part of this name; without fields when it is absent or not an object. */
  part(name: string): SpecPart {
    return new SpecPart(this.get(name), fieldPath(this.#path, [name]), this.#faults)
  }

  /** The objects of a list. */
  parts(name: string): readonly SpecPart[] {
    const items = this.get(name)
    if (!Array.isArray(items)) return []
    return items.map((item, at) => new SpecPart(item, fieldPath(this.#path, [name, at]), this.#faults))
  }

  refuseUnknown(isKnown: (name: string) => boolean, allowed: readonly string[]): void {
    const { reason, fix } = unknownField(allowed)
    for (const name of this.names) if (!isKnown(name)) this.fault(name.slice(0, 60), reason, fix)
  }

  /** @param name '': the part itself */
  fault(name: string, reason: string, fix: string): void {
    this.#faults.push({ field: name === '' ? this.#path : fieldPath(this.#path, [name]), reason, fix })
  }
}
