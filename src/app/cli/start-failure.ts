/** The text of a failed start, which names the setting and the fix for some faults of the file system and of ports. */
import { relative, resolve } from 'node:path'

interface Places {
  readonly dataDir: string
  readonly auth: { readonly devPort: number }
  readonly example: { readonly port: number }
}

/** System error of Node's errors of files and sockets. */
interface SystemError extends NodeJS.ErrnoException {
  readonly address?: string
  readonly port?: number
}

/** Codes of errno(3) whose messages name no file when a write fails. */
const CAUSES: { readonly [code: string]: string } = {
  ENOSPC: 'is on a full file system. Free disk space, or set DATA_DIR to a directory on another file system.',
  EDQUOT:
    'is on a file system on which the disk quota of this user is used up. Delete files, or raise the disk quota.',
  EROFS:
    'is on a read-only file system. Mount this file system writable, or set DATA_DIR to a writable directory.',
  EACCES:
    'is not writable by this user. Change the owner of the directory, or set DATA_DIR to a directory that this user can write to.',
  EIO: 'is on a file system that reports input/output errors. Check the disk.',
}
const LISTEN_CAUSES: { readonly [code: string]: string } = {
  EACCES: 'this user may not open the port',
  EADDRINUSE: 'the port is taken',
}
/** System calls whose errors with these codes come from sockets. */
const SOCKET_CALLS = ['listen', 'bind', 'connect']

export function startFailure(error: unknown, places: Places): string {
  const reason = error instanceof Error ? error.message : String(error)
  const { code = '', syscall = '', path, address, port } = (error ?? {}) as SystemError
  // a listener of the gateway or the control plane names its settings itself
  if (syscall === 'listen' && port !== undefined)
    return `cannot listen on ${address}:${port}: ${LISTEN_CAUSES[code] ?? reason}; set ${settingOf(port, places)} to a free port that this user may open`
  const cause = CAUSES[code]
  if (cause === undefined || SOCKET_CALLS.includes(syscall) || !concerns(places.dataDir, path)) return reason
  return `DATA_DIR (${places.dataDir}) ${cause} (${reason})`
}

function settingOf(port: number, { auth, example }: Places): string {
  const ports: readonly (readonly [string, number])[] = [
    ['EXAMPLE_PORT', example.port],
    ['AUTH_PORT', auth.devPort],
  ]
  return ports.find(([, each]) => each === port)?.[0] ?? 'EXAMPLE_PORT or AUTH_PORT'
}

/** @param path of the file; a failed write has none, and an error may name a directory above */
function concerns(dataDir: string, path: string | undefined): boolean {
  if (path === undefined) return true
  const [directory, file] = [resolve(dataDir), resolve(path)]
  return isWithin(directory, file) || isWithin(file, directory)
}

function isWithin(directory: string, path: string): boolean {
  return relative(directory, path).split(/[\\/]/)[0] !== '..'
}
