/** How readers of files report damage. It reads no file. */

/**
 * Receives a file that is damaged. The reader goes on with what `assumed` says.
 * @param assumed a clause that follows "<file> is damaged:", for operators
 */
export type OnDamage = (file: string, assumed: string) => void
