/** Reads input field by field and gathers every fault before it refuses. It knows no field of the shop by name. */
import { type ShopFieldFault, shopInvalid } from './problem.ts'

interface TextRule {
  readonly min?: number
  readonly max: number
  readonly pattern?: RegExp
  /** What the pattern means, for the fault. */
  readonly form?: string
}

interface Range {
  readonly min: number
  readonly max: number
}

const EMAIL = /^[^\s@]{1,64}@[^\s@.]+(\.[^\s@.]+)+$/
const DATE_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/

/** One object of the input. A reader that finds a fault notes it and returns a harmless value; `done` then throws. */
export class ShopFields {
  readonly #value: Readonly<Record<string, unknown>>
  readonly #at: string
  readonly #faults: ShopFieldFault[]
  readonly #known = new Set<string>()

  /** @param at prefix of the names in faults: a JSON Pointer for bodies, '' for parameters. */
  constructor(value: unknown, at: string, faults: ShopFieldFault[] = []) {
    this.#at = at
    this.#faults = faults
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      this.#value = value as Record<string, unknown>
    } else {
      this.#value = {}
      this.#fault('', 'must be an object')
    }
  }

  #fault(name: string, message: string): void {
    this.#faults.push({ field: name === '' ? this.#at.replace(/\/$/, '') : `${this.#at}${name}`, message })
  }

  fault(name: string, message: string): void {
    this.#fault(name, message)
  }

  #take(name: string): unknown {
    this.#known.add(name)
    return Object.hasOwn(this.#value, name) ? this.#value[name] : undefined
  }

  has(name: string): boolean {
    return this.#take(name) !== undefined
  }

  isNull(name: string): boolean {
    return this.#take(name) === null
  }

  /** undefined when the field is absent, else what `read` makes of it. */
  optional<T>(name: string, read: () => T): T | undefined {
    return this.has(name) ? read() : undefined
  }

  text(name: string, rule: TextRule): string {
    const value = this.#take(name)
    const min = rule.min ?? 0
    if (value === undefined) this.#fault(name, 'is missing')
    else if (typeof value !== 'string') this.#fault(name, 'must be a text')
    else if (value.length < min || value.length > rule.max)
      this.#fault(name, `must have ${min} to ${rule.max} characters`)
    else if (rule.pattern !== undefined && !rule.pattern.test(value))
      this.#fault(name, `must be ${rule.form ?? `of the form ${rule.pattern.source}`}`)
    else return value
    return ''
  }

  email(name: string): string {
    return this.text(name, { max: 200, pattern: EMAIL, form: 'an e-mail address' })
  }

  dateTime(name: string): string {
    const text = this.text(name, { max: 40, pattern: DATE_TIME, form: 'a time such as 2026-01-31T12:00:00Z' })
    if (text !== '' && Number.isNaN(Date.parse(text))) this.#fault(name, 'is not a valid time')
    return text
  }

  integer(name: string, range: Range): number {
    const value = this.#take(name)
    if (value === undefined) this.#fault(name, 'is missing')
    else if (typeof value !== 'number' || !Number.isInteger(value))
      this.#fault(name, 'must be a whole number')
    else if (value < range.min || value > range.max)
      this.#fault(name, `must be from ${range.min} to ${range.max}`)
    else return value
    return range.min
  }

  flag(name: string): boolean {
    const value = this.#take(name)
    if (typeof value === 'boolean') return value
    this.#fault(name, 'must be true or false')
    return false
  }

  oneOf<const T extends string>(name: string, values: readonly T[]): T {
    const value = this.#take(name)
    if (values.includes(value as T)) return value as T
    this.#fault(name, `must be one of ${values.join(', ')}`)
    return values[0]!
  }

  list<T>(name: string, range: Range, read: (item: ShopFields, itemName: string) => T): T[] {
    const value = this.#take(name)
    if (!Array.isArray(value)) {
      this.#fault(name, 'must be a list')
      return []
    }
    if (value.length < range.min || value.length > range.max) {
      this.#fault(name, `must have ${range.min} to ${range.max} entries`)
      return []
    }
    const items = new ShopFields(Object.fromEntries(value.entries()), `${this.#at}${name}/`, this.#faults)
    return value.map((_, at) => read(items, String(at)))
  }

  texts(name: string, range: Range, rule: TextRule): string[] {
    const found = this.list(name, range, (items, at) => items.text(at, rule))
    if (new Set(found).size !== found.length) this.#fault(name, 'must not repeat an entry')
    return found
  }

  object<T>(name: string, read: (fields: ShopFields) => T): T {
    const inner = new ShopFields(this.#take(name), `${this.#at}${name}/`, this.#faults)
    const result = read(inner)
    inner.closed()
    return result
  }

  /** An object whose keys are data, such as addresses by label. */
  map<T>(name: string, max: number, key: RegExp, read: (fields: ShopFields) => T): Record<string, T> {
    return this.object(name, fields => {
      const names = Object.keys(fields.#value)
      if (names.length > max) fields.#fault('', `must have at most ${max} entries`)
      const entries: [string, T][] = []
      for (const entry of names.slice(0, max)) {
        if (!key.test(entry)) fields.#fault(entry, 'is not a valid name')
        entries.push([entry, fields.object(entry, read)])
      }
      return Object.fromEntries(entries)
    })
  }

  /** Reports unknown fields. */
  closed(): void {
    for (const name of Object.keys(this.#value)) {
      if (!this.#known.has(name)) this.#fault(name, 'is not known here')
    }
  }

  /** To be called last. @throws Problem 400 that names every fault. */
  done(): void {
    this.closed()
    if (this.#faults.length > 0) throw shopInvalid(this.#faults)
  }

  /** At least one of the fields must be there (PATCH bodies). */
  needsSome(): void {
    if (Object.keys(this.#value).length === 0) this.#fault('', 'must change at least one field')
  }
}
