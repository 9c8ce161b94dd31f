/** Converts names of fields from camel case to snake case. It converts none back. */

/** `expiresAt` → `expires_at` */
export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
}
