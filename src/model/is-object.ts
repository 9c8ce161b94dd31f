/** Distinguishes a JSON object from every other value; arrays, null and exact numbers are not objects. It does not look at the members. */
import { ExactNumber } from './exact-number.ts'

export function isObject(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber)
  )
}
