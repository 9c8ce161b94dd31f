/** Distinguishes a JSON object from every other value; arrays and null are not objects. It does not look at the members. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
