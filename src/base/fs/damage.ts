/** How readers of files report files that are damaged or cannot be read, and the errors of the file system among others. */

/**
 * Receives a file that is damaged or cannot be read. The reader goes on with what `assumed` says.
 * @param assumed a clause that follows "<file> is damaged:", for operators
 * @param error why the file cannot be read; absent: its content is damaged
 */
export type OnDamage = (file: string, assumed: string, error?: NodeJS.ErrnoException) => void

/** The error when the file system reported it, such as EACCES; undefined for other errors, such as those of a parser. */
export function fileSystemError(error: unknown): NodeJS.ErrnoException | undefined {
  const { code } = (error ?? {}) as NodeJS.ErrnoException
  return error instanceof Error && /^E[A-Z0-9]+$/.test(code ?? '') ? error : undefined
}
