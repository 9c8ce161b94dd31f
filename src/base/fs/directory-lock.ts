/** The lock of a process on a directory, as a file: taken, refreshed and released. */
import { randomUUID } from 'node:crypto'
import { linkSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { readTextIfPresent } from './missing.ts'

export interface DirectoryLock {
  /** Idempotent. */
  release(): void
}

export interface LockOptions {
  /** Path of the lock file; its folder exists. */
  readonly file: string
  /** The setting that names the directory, for the message of a refusal. */
  readonly setting: string
  /** Receives failed refreshes of the lock file. */
  readonly onFault?: (message: string, error: unknown) => void
}

interface Holder {
  readonly pid: number
  /** Boot of the machine and start time of the process; '' where the system does not report them. A pid alone may be reused. */
  readonly started: string
  readonly host: string
  readonly id: string
}

/** The holder refreshes the file's time, because processes on other hosts cannot look its pid up. */
const REFRESH_MS = 5_000
const STALE_AFTER_MS = 30_000
/** Changes of the lock by other processes, during one call, after which this one fails. */
const MAX_ATTEMPTS = 20

/**
 * Takes the lock, also from a process that ended without releasing it.
 *
 * The file appears by a hard link, so it is never seen half-written and only one process can create it. To replace the
 * lock of a dead holder, a process first creates the claim `<file>.claim.<id of that holder>`, which only one process
 * can do, checks that the lock has not changed since it was read, and renames its own file over it. Nothing else
 * replaces a lock. A process that dies with a claim is replaced in the same way, by a claim on the claim.
 *
 * @throws Error naming the directory, the process that holds it (if one does) and the fix; Error of the file system
 */
export function lockDirectory(directory: string, options: LockOptions): DirectoryLock {
  const { file, setting } = options
  const own: Holder = {
    pid: process.pid,
    started: startOf(process.pid),
    host: hostname(),
    id: randomUUID(),
  }
  const draft = `${file}.${own.id}`
  // flushed: after a power failure the lock is complete or absent
  writeFileSync(draft, JSON.stringify(own), { mode: 0o600, flush: true })
  try {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      if (tryLink(draft, file) || replaceDead(file, draft, directory, setting))
        return hold(directory, own, options)
    }
    throw new Error(
      `${directory} could not be locked, because other processes lock it repeatedly. Set ${setting} to a different directory for each process`,
    )
  } finally {
    rmSync(draft, { force: true })
  }
}

/**
 * @returns false when the lock changed meanwhile
 * @throws Error when its holder, or a process that is replacing it, may be alive, or when the lock cannot be read
 */
function replaceDead(file: string, draft: string, directory: string, setting: string): boolean {
  const text = readTextIfPresent(file)
  if (text === undefined) return false
  const claims: string[] = []
  let [path, found] = [file, text]
  for (;;) {
    const holder = parse(found)
    if (mayBeAlive(holder, path)) throw inUse(directory, holder, setting)
    const claim = `${file}.claim.${holder?.id ?? 'unreadable'}`
    if (claims.includes(claim)) return false
    claims.push(claim)
    if (tryLink(draft, claim)) break
    const claimed = readTextIfPresent(claim)
    if (claimed === undefined) return false
    ;[path, found] = [claim, claimed]
  }
  // Claims are removed only after the lock they belong to has been replaced, so an unchanged lock stays unchanged.
  const unchanged = readTextIfPresent(file) === text
  if (unchanged) renameSync(draft, file)
  for (const claim of unchanged ? claims : claims.slice(-1)) rmSync(claim, { force: true })
  return unchanged
}

function hold(directory: string, own: Holder, { file, onFault }: LockOptions): DirectoryLock {
  const timer = setInterval(() => {
    try {
      utimesSync(file, new Date(), new Date())
    } catch (error) {
      onFault?.(`the lock file of ${directory} could not be refreshed`, error)
    }
  }, REFRESH_MS)
  timer.unref()
  return {
    release() {
      clearInterval(timer)
      if (parse(readTextIfPresent(file) ?? '')?.id === own.id) rmSync(file, { force: true })
    },
  }
}

/** Errs on the side of the living: a directory with two writers is lost, one with a stale lock is not. */
function mayBeAlive(holder: Holder | undefined, path: string): boolean {
  // without a readable holder, or on another host, only silence shows that the process has ended
  if (holder === undefined || holder.host !== hostname()) return ageMs(path) < STALE_AFTER_MS
  // the own pid included: a second opening in one process would write the same files
  try {
    process.kill(holder.pid, 0)
  } catch (error) {
    // EPERM: the process exists, under another user
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
  const started = startOf(holder.pid)
  return started === '' || holder.started === '' || started === holder.started
}

/** Field 22 of /proc/<pid>/stat (proc(5)), in ticks since the boot, with the id of that boot. */
function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()
    // the command name before it may contain spaces and parentheses
    return `${boot}/${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]}`
  } catch {
    return ''
  }
}

function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

function parse(text: string): Holder | undefined {
  try {
    const { pid, started, host, id } = JSON.parse(text) as Partial<Holder>
    const complete =
      Number.isInteger(pid) && typeof started === 'string' && typeof host === 'string' && isId(id)
    return complete ? ({ pid, started, host, id } as Holder) : undefined
  } catch {
    return undefined
  }
}

/** An id becomes part of a file name. */
function isId(id: unknown): boolean {
  return typeof id === 'string' && /^[\w-]{1,64}$/.test(id)
}

function ageMs(path: string): number {
  return Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0)
}

function inUse(directory: string, holder: Holder | undefined, setting: string): Error {
  const process = holder === undefined ? 'another process' : `process ${holder.pid} on ${holder.host}`
  return new Error(
    `${directory} is in use by ${process}. Stop that process, or set ${setting} to another directory for this process`,
  )
}
