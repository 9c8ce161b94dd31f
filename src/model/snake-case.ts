/** Names of fields as the API writes them. */

/** `expiresAt` → `expires_at` */
export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
}
