/** Converts names of fields from camel case to snake case. */

/** `expiresAt` → `expires_at` */
export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
}
