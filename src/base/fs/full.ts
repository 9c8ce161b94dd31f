/** Recognizes the errors of a file system without space. */

/** Also where the user of the process has no more of a quota. */
export function isFull(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code === 'ENOSPC' || code === 'EDQUOT'
}
