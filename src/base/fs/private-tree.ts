/** Makes a folder, and this user's files and folders below it, private, up to a bound, and reports failures. */
import {
  closeSync,
  constants,
  type Dirent,
  fchmodSync,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
} from 'node:fs'
import { join } from 'node:path'
import { isMissing } from './missing.ts'

export interface PrivateTree {
  /** Files and folders whose mode was changed. */
  readonly corrected: number
  /** What could not be looked at or changed; at most `MAX_REPORTED` of them. */
  readonly failures: readonly { readonly path: string; readonly reason: string }[]
  readonly failed: number
  /** Not everything was looked at: there is too much. */
  readonly truncated: boolean
}

const GROUP_AND_OTHERS = 0o077
const MAX_ENTRIES = 200_000
const MAX_REPORTED = 5

/**
 * Files of mode 0666 become 0600 and folders of mode 0777 become 0700, the outer ones first, so that no other user can
 * exchange what is inside meanwhile. Only what this process's user owns is changed; links, sockets and devices are left as they are.
 */
export function makeTreePrivate(root: string): PrivateTree {
  const failures: { path: string; reason: string }[] = []
  const folders = [root]
  const owner = process.geteuid?.()
  let [corrected, failed, entries] = [0, 0, 0]

  function attempt<T>(path: string, action: () => T): T | undefined {
    try {
      return action()
    } catch (error) {
      // a file that another process has removed since
      if (isMissing(error)) return undefined
      const { code, message } = error as NodeJS.ErrnoException
      failed++
      if (failures.length < MAX_REPORTED) failures.push({ path, reason: code ?? message })
      return undefined
    }
  }

  /** @returns whether it is a folder to look into */
  function correct(path: string): boolean {
    const found = lstatSync(path)
    if (found.uid !== owner) return false
    if ((found.mode & GROUP_AND_OTHERS) === 0) return found.isDirectory()
    return change(path, constants.O_NOFOLLOW)
  }

  /** By descriptor: a path could lead elsewhere by now. */
  function change(path: string, flags = 0): boolean {
    const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | flags)
    try {
      const stats = fstatSync(fd)
      if (stats.uid !== owner || !(stats.isFile() || stats.isDirectory())) return false
      if ((stats.mode & GROUP_AND_OTHERS) !== 0) {
        fchmodSync(fd, stats.mode & 0o7777 & ~GROUP_AND_OTHERS)
        corrected++
      }
      return stats.isDirectory()
    } finally {
      closeSync(fd)
    }
  }

  // the root itself may be a link, and a folder of another user in which we own files
  attempt(root, () => change(root))
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const path = folder
    const found = attempt(path, () => readdirSync(path, { withFileTypes: true })) ?? ([] as Dirent[])
    for (const entry of found) {
      if (++entries > MAX_ENTRIES) return { corrected, failures, failed, truncated: true }
      if (!entry.isFile() && !entry.isDirectory()) continue
      const below = join(path, entry.name)
      if (attempt(below, () => correct(below)) === true) folders.push(below)
    }
  }
  return { corrected, failures, failed, truncated: false }
}
