/** Our own lock on a PGlite data directory: PGlite lets a second process open it unasked. It reads and writes no database file. */
import { randomUUID } from 'node:crypto'
import {
  linkSync,
  mkdirSync,
  readFileSync,
  rmdirSync,
  statSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { hostname } from 'node:os'

interface Owner {
  readonly token: string
  readonly pid: number
  /** Start time of the process in clock ticks since boot; '' where the system does not tell. A pid alone may have been reused. */
  readonly started: string
  readonly host: string
}

/** How often the owner shows that it lives, for processes on another host that cannot look it up. */
const HEARTBEAT_MS = 5_000
const STALE_AFTER_MS = 30_000

export interface DirectoryLock {
  release(): void
}

/**
 * Takes `<directory>.lock`. A lock whose owner is gone is taken over.
 * @throws Error naming directory and owner when another process has it
 */
export function lockDirectory(
  directory: string,
  onFault: (message: string, error: unknown) => void,
): DirectoryLock {
  const path = `${directory}.lock`
  const mine: Owner = {
    token: randomUUID(),
    pid: process.pid,
    started: startTime(process.pid),
    host: hostname(),
  }
  if (!tryTake(path, mine)) {
    takeOver(path, directory)
    if (!tryTake(path, mine)) throw inUse(directory, readOwner(path))
  }
  const heartbeat = setInterval(() => {
    try {
      const at = new Date()
      utimesSync(path, at, at)
    } catch (error) {
      onFault(`the lock file of ${directory} could not be refreshed`, error)
    }
  }, HEARTBEAT_MS)
  heartbeat.unref()
  return {
    release() {
      clearInterval(heartbeat)
      if (readOwner(path)?.token === mine.token) unlinkSync(path)
    },
  }
}

/** A hard link appears whole or not at all, and fails when the name exists: nobody ever reads half an owner. */
function tryTake(path: string, owner: Owner): boolean {
  const draft = `${path}.${owner.token}`
  writeFileSync(draft, JSON.stringify(owner), { flag: 'wx' })
  try {
    linkSync(draft, path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  } finally {
    unlinkSync(draft)
  }
}

/** Removes the lock of an owner that is gone. Only one process at a time looks, so that none removes a lock just taken. */
function takeOver(path: string, directory: string): void {
  const gate = `${path}.gate`
  if (!tryGate(gate)) throw inUse(directory, readOwner(path))
  try {
    const owner = readOwner(path)
    if (owner === undefined) return
    if (alive(owner, path)) throw inUse(directory, owner)
    unlinkSync(path)
  } finally {
    rmdirSync(gate)
  }
}

function tryGate(gate: string): boolean {
  for (const last of [false, true]) {
    try {
      mkdirSync(gate)
      return true
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      // Held for microseconds; an old one belongs to a process killed inside.
      if (last || ageMs(gate) < STALE_AFTER_MS) return false
      rmdirSync(gate)
    }
  }
  return false
}

function alive(owner: Owner, path: string): boolean {
  if (owner.host !== hostname()) return ageMs(path) < STALE_AFTER_MS
  try {
    process.kill(owner.pid, 0)
  } catch (error) {
    // EPERM: it lives, under another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
  return startTime(owner.pid) === owner.started
}

function startTime(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // Field 22 (proc(5)); the command name before it may hold spaces and parentheses.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''
  } catch {
    return ''
  }
}

function readOwner(path: string): Owner | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Owner
  } catch {
    return undefined
  }
}

function ageMs(path: string): number {
  return Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0)
}

function inUse(directory: string, owner: Owner | undefined): Error {
  const who = owner === undefined ? 'another process' : `process ${owner.pid} on ${owner.host}`
  return new Error(
    `the database directory ${directory} is in use by ${who}. Stop it, or give this one a DATABASE_URL of its own.`,
  )
}
