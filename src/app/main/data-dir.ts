/** Creates `DATA_DIR` if it is missing, and reports or corrects its permissions. */
import { accessSync, constants, mkdirSync, statSync } from 'node:fs'
import { makeTreePrivate } from '../../base/fs/private-tree.ts'
import type { Log } from '../../telemetry/log.ts'

const STICKY = 0o1000
const OTHERS_WRITE = 0o002
const GROUP_OR_OTHERS_WRITE = 0o022

/**
 * Creates the directory if it is missing and, unless all users share it, removes the permissions of group and others from it and its contents;
 * files for which that fails, or that are too many, are only logged.
 * @throws Error with the fix if it cannot be created, or if every user can still write to a directory that this user owns; an Error of the
 * file system if it cannot be written
 */
export function prepareDataDir(dataDir: string, log: Log): void {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw new Error(
      `DATA_DIR (${dataDir}) could not be created: ${(error as Error).message}. Set DATA_DIR to a directory that the user of this process can write to.`,
    )
  }
  checkWritable(dataDir)
  const path = dataDir
  // like /tmp, or a tmpfs of a container: the other files belong to other programs
  if (isShared(statSync(dataDir).mode)) {
    log.warn(
      { path },
      'DATA_DIR is a directory shared by all users (its sticky bit is set). Set DATA_DIR to a private directory',
    )
    return
  }
  const { corrected, failures, failed, truncated } = makeTreePrivate(dataDir)
  if (corrected > 0)
    log.info(
      { path, corrected },
      'the permissions of other users were removed from files and folders in DATA_DIR',
    )
  if (failed > 0)
    log.warn(
      { path, failed, failures },
      'the permissions of other users could not be removed from some files in DATA_DIR. Run chmod -R go= on DATA_DIR',
    )
  if (truncated)
    log.warn(
      { path },
      'DATA_DIR contains too many files: the permissions of some files were not checked. Run chmod -R go= on DATA_DIR',
    )
  const { uid, mode } = statSync(dataDir)
  if ((mode & GROUP_OR_OTHERS_WRITE) === 0) return
  // a volume mounted by Kubernetes (emptyDir, fsGroup) belongs to root: only its contents can be protected
  if (uid !== process.geteuid?.() || (mode & OTHERS_WRITE) === 0) {
    log.warn(
      { path, mode: octal(mode), owner: uid },
      'other users can write to DATA_DIR, and this process cannot remove that permission. If possible, set DATA_DIR to a directory that only the user of this process can write to',
    )
    return
  }
  throw new Error(
    `DATA_DIR (${dataDir}) is writable by every user (mode ${octal(mode)}), and this permission could not be removed. Set DATA_DIR to a directory of mode 0700 on a file system that supports permissions.`,
  )
}

/** Later, `mkdir` with `recursive` would report a read-only file system as ENOENT. @throws Error of the file system */
function checkWritable(directory: string): void {
  try {
    accessSync(directory, constants.W_OK)
  } catch (error) {
    // an immutable directory: its mode is judged below
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error
  }
}

function isShared(mode: number): boolean {
  return (mode & STICKY) !== 0 && (mode & OTHERS_WRITE) !== 0
}

function octal(mode: number): string {
  return (mode & 0o7777).toString(8).padStart(4, '0')
}
