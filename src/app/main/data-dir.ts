/** Prepares `DATA_DIR` before anything is written there: it is private to this process's user, or the start is refused. */
import { mkdirSync, statSync } from 'node:fs'
import { makeTreePrivate } from '../../shared/fs/private-tree.ts'
import type { Log } from '../../shared/telemetry/log.ts'

const STICKY = 0o1000
const OTHERS_WRITE = 0o002
const GROUP_OR_OTHERS_WRITE = 0o022

/**
 * Makes the folder when it is missing, and takes the permissions of group and others off it and what is in it.
 * @throws Error naming DATA_DIR and the fix when it cannot be made, or every user can still write to a folder that is ours
 */
export function prepareDataDir(dataDir: string, log: Log): void {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw new Error(
      `DATA_DIR (${dataDir}) could not be created: ${(error as Error).message}. Set DATA_DIR to a folder that this user can write to.`,
    )
  }
  const path = dataDir
  // like /tmp, or a tmpfs of a container: its other files are not ours to change
  if (isShared(statSync(dataDir).mode)) {
    log.warn({ path }, 'DATA_DIR is a folder shared by all users (sticky bit); use a folder of its own')
    return
  }
  const { corrected, failures, failed, truncated } = makeTreePrivate(dataDir)
  if (corrected > 0)
    log.info({ path, corrected }, 'files and folders in DATA_DIR were open to other users; now they are not')
  if (failed > 0)
    log.warn({ path, failed, failures }, 'permissions of files in DATA_DIR could not be corrected')
  if (truncated) log.warn({ path }, 'DATA_DIR holds too many files: permissions of some were not checked')
  const { uid, mode } = statSync(dataDir)
  if ((mode & GROUP_OR_OTHERS_WRITE) === 0) return
  // a volume that Kubernetes mounts (emptyDir, fsGroup) belongs to root: only what is inside can be protected
  if (uid !== process.geteuid?.() || (mode & OTHERS_WRITE) === 0) {
    log.warn(
      { path, mode: octal(mode), owner: uid },
      'DATA_DIR can be written by other users and this one cannot change that; its files can be read by this user only',
    )
    return
  }
  throw new Error(
    `DATA_DIR (${dataDir}) can be written by every user (mode ${octal(mode)}), and that could not be changed. Set DATA_DIR to a folder of mode 0700 on a file system that keeps permissions.`,
  )
}

function isShared(mode: number): boolean {
  return (mode & STICKY) !== 0 && (mode & OTHERS_WRITE) !== 0
}

function octal(mode: number): string {
  return (mode & 0o7777).toString(8).padStart(4, '0')
}
