/** The text of a start that failed, with the directory and the fix where the file system is the cause. It prints nothing. */
import type { Settings } from '../settings.ts'

/** Codes of errno(3) whose messages name no file when a write fails. */
const CAUSES: { readonly [code: string]: string } = {
  ENOSPC: 'is on a full file system. Free space, or set DATA_DIR to another file system.',
  EDQUOT: 'is on a file system whose quota is used up. Free space, or raise the quota of this user.',
  EROFS: 'is on a read-only file system. Mount it writable, or set DATA_DIR to a writable directory.',
  EACCES: 'is not writable by this user. Change its owner, or set DATA_DIR to a directory of this user.',
  EIO: 'is on a file system with input/output errors. Check the disk.',
}

export function startFailure(error: unknown, { dataDir }: Pick<Settings, 'dataDir'>): string {
  const reason = error instanceof Error ? error.message : String(error)
  const cause = CAUSES[(error as NodeJS.ErrnoException | undefined)?.code ?? '']
  return cause === undefined ? reason : `DATA_DIR (${dataDir}) ${cause} (${reason})`
}
