/** Whether a value is an object, not null, a list or an exact number. It does not look at the members. */
import { ExactNumber } from './exact-number.ts'

export function isObject(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber)
  )
}
