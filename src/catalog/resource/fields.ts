/** Reads fields of untrusted resources, and collects and formats their faults. */
import { parseDurationMs } from '../../base/duration.ts'
import { isObject } from '../../base/json/is-object.ts'
import { type Dict, own } from '../compile/dict.ts'

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

/** One object of a resource. On `close`, every field that was not read is a fault. */
export class ResourceFields {
  readonly path: string
  readonly #dict: Dict
  readonly #faults: ResourceFault[]
  readonly #known = new Set<string>()

  constructor(path: string, dict: Dict, faults: ResourceFault[]) {
    this.path = path
    this.#dict = dict
    this.#faults = faults
  }

  at(name: string): string {
    return this.path === '' || name === '' ? `${this.path}${name}` : `${this.path}.${name}`
  }

  fault(name: string, reason: string, fix: string): void {
    this.faultAt(this.at(name), reason, fix)
  }

  /** @param field path from the top of the resource, such as `metadata.name` */
  faultAt(field: string, reason: string, fix: string): void {
    this.#faults.push({ field, reason, fix })
  }

  /** The value; null counts as absent, as in Kubernetes. */
  raw(name: string): unknown {
    this.#known.add(name)
    return own(this.#dict, name) ?? undefined
  }

  has(name: string): boolean {
    return this.raw(name) !== undefined
  }

  string(
    name: string,
    rule: { readonly max?: number; readonly pattern?: RegExp; readonly fix?: string } = {},
  ): string | undefined {
    const value = this.raw(name)
    if (value === undefined) return undefined
    const fix = rule.fix ?? `write a string of 1 to ${rule.max ?? 1024} characters`
    if (typeof value !== 'string') this.fault(name, 'is not a string', fix)
    else if (value === '' && rule.pattern === undefined) this.fault(name, 'is empty', fix)
    else if (value.length > (rule.max ?? 1024))
      this.fault(name, `is longer than ${rule.max ?? 1024} characters`, fix)
    else if (rule.pattern !== undefined && !rule.pattern.test(value))
      this.fault(name, `is "${value.slice(0, 60)}"`, fix)
    else return value
    return undefined
  }

  boolean(name: string): boolean | undefined {
    const value = this.raw(name)
    if (value === undefined || typeof value === 'boolean') return value
    this.fault(name, 'is not a boolean', 'write true or false')
    return undefined
  }

  integer(name: string, min: number, max: number): number | undefined {
    const value = this.raw(name)
    if (value === undefined) return undefined
    if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value
    this.fault(name, 'is not an integer in the allowed range', `write an integer from ${min} to ${max}`)
    return undefined
  }

  /** Strings, each once. */
  list(name: string, maxItems = 200): readonly string[] | undefined {
    const value = this.raw(name)
    if (value === undefined) return undefined
    if (
      !Array.isArray(value) ||
      !value.every(item => typeof item === 'string' && item !== '' && item.length <= 256)
    ) {
      this.fault(name, 'is not a list of strings of 1 to 256 characters', 'write a list such as [a, b]')
    } else if (value.length > maxItems) this.fault(name, `has more than ${maxItems} entries`, 'shorten it')
    else return [...new Set(value as string[])]
    return undefined
  }

  oneOf<T extends string>(name: string, values: readonly T[]): T | undefined {
    const value = this.raw(name)
    if (value === undefined) return undefined
    const found = values.find(candidate => candidate === value)
    if (found === undefined)
      this.fault(name, `is "${String(value).slice(0, 60)}"`, `write one of ${values.join(', ')}`)
    return found
  }

  durationMs(name: string, minMs: number, maxMs: number): number | undefined {
    const value = this.raw(name)
    if (value === undefined) return undefined
    const parsed = typeof value === 'string' ? parseDurationMs(value) : undefined
    if (parsed !== undefined && parsed >= minMs && parsed <= maxMs) return parsed
    this.fault(
      name,
      `is ${JSON.stringify(value)}`,
      `write a duration from ${minMs} ms to ${maxMs} ms, such as 30s or 1h`,
    )
    return undefined
  }

  /** A nested object; undefined when it is absent or not an object. */
  object(name: string): ResourceFields | undefined {
    const value = this.raw(name)
    if (value === undefined) return undefined
    if (isObject(value)) return new ResourceFields(this.at(name), value, this.#faults)
    this.fault(name, 'is not an object', 'write an object')
    return undefined
  }

  /** A list of objects. */
  objects(name: string, maxItems: number): readonly ResourceFields[] {
    const value = this.raw(name)
    if (value === undefined) return []
    if (!Array.isArray(value) || !value.every(isObject))
      this.fault(name, 'is not a list of objects', 'write a list of objects')
    else if (value.length > maxItems) this.fault(name, `has more than ${maxItems} entries`, 'shorten it')
    else return value.map((item, i) => new ResourceFields(`${this.at(name)}[${i}]`, item, this.#faults))
    return []
  }

  /** The names of all fields, for objects whose fields are named by the author. */
  get names(): readonly string[] {
    return Object.keys(this.#dict)
  }

  /** Adds a fault for every field that was not read. */
  close(): void {
    for (const name of Object.keys(this.#dict)) {
      if (this.#known.has(name)) continue
      const known = [...this.#known].join(', ')
      this.fault(
        name.slice(0, 60),
        'is not a known field',
        `correct or remove the field; allowed fields: ${known}`,
      )
    }
  }
}
