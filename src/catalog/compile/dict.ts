/** Reads own properties and typed values of untrusted JSON, and sets properties of any name. It does not interpret OpenAPI. */

export type Dict = { readonly [key: string]: unknown }

/** The own property, undefined when there is none (`constructor` and `__proto__` included). */
export function own(dict: Dict, key: string): unknown {
  return Object.hasOwn(dict, key) ? dict[key] : undefined
}

/** The value when it is a non-empty string. */
export function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** The strings of an array, each once. */
export function strings(value: unknown): string[] {
  return [...new Set(list(value).filter((item): item is string => typeof item === 'string'))]
}

/** Assigns an own property of any name: plain assignment of `__proto__` would change the prototype. */
export function put(target: Record<string, unknown>, key: string, value: unknown): void {
  if (key === '__proto__') {
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true })
  } else target[key] = value
}
