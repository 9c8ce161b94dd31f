/** A lock file: one living process uses a directory. It knows nothing of what the directory holds. */
import { randomUUID } from 'node:crypto'
import {
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'

export interface DirectoryLock {
  /** Idempotent. */
  release(): void
}

interface Holder {
  readonly pid: number
  /** Start of the process, so that a later process of the same number is not taken for it. '' where the system does not say. */
  readonly started: string
  readonly host: string
  readonly id: string
}

/** The holder says so often that it lives, for those on other hosts who cannot look it up; silent for so long, it is dead. */
const BEAT_MS = 5_000
const SILENT_MS = 30_000
/** Takeovers that may come in between before this one gives up. */
const ATTEMPTS = 20

/**
 * Takes the lock, also of a process that has ended without giving it back.
 * @throws Error naming the directory, the process that holds it, and the mend
 */
export function lockDirectory(dir: string): DirectoryLock {
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const path = join(dir, 'lock')
  const own: Holder = {
    pid: process.pid,
    started: startOf(process.pid),
    host: hostname(),
    id: randomUUID(),
  }
  const draft = `${path}.${own.id}`
  writeFileSync(draft, JSON.stringify(own), { mode: 0o600 })
  try {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      // The link makes the file appear whole or not at all, and for one process only.
      if (tryLink(draft, path)) return hold(path, own)
      const text = read(path)
      if (text === undefined) continue
      const holder = parse(text)
      if (holder !== undefined && alive(holder, path))
        throw new Error(
          `${dir} is in use by process ${holder.pid} on ${holder.host}; stop it, or give this one another DATA_DIR`,
        )
      dispose(path, text)
    }
    throw new Error(`${dir} could not be locked; other processes keep taking it. Give each its own DATA_DIR`)
  } finally {
    unlinkSync(draft)
  }
}

/** Moves a lock away that was judged dead; puts it back when it is another one by now. */
function dispose(path: string, judged: string): void {
  const aside = `${path}.${randomUUID()}`
  try {
    renameSync(path, aside)
  } catch {
    return
  }
  if (read(aside) !== judged) tryLink(aside, path)
  unlinkSync(aside)
}

function hold(path: string, own: Holder): DirectoryLock {
  const beat = setInterval(() => {
    try {
      utimesSync(path, new Date(), new Date())
    } catch {
      // The directory is gone or read-only; nobody on another host can tell then, and those on this one look the process up.
    }
  }, BEAT_MS)
  beat.unref()
  return {
    release() {
      clearInterval(beat)
      release(path, own)
    },
  }
}

function silentForMs(path: string): number {
  try {
    return Date.now() - statSync(path).mtimeMs
  } catch {
    return Number.POSITIVE_INFINITY
  }
}

function release(path: string, own: Holder): void {
  const text = read(path)
  if (text !== undefined && parse(text)?.id === own.id) unlinkSync(path)
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

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

function parse(text: string): Holder | undefined {
  try {
    const value = JSON.parse(text) as Partial<Holder>
    return typeof value.pid === 'number' && typeof value.host === 'string' ? (value as Holder) : undefined
  } catch {
    return undefined
  }
}

function alive(holder: Holder, path: string): boolean {
  if (holder.host !== hostname()) return silentForMs(path) < SILENT_MS
  // A second opening in one process is refused too: it would write the same files.
  try {
    process.kill(holder.pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
  return holder.started === '' || holder.started === startOf(holder.pid)
}

/** Field 22 of /proc/<pid>/stat (proc(5)), in ticks since the machine's start, with the machine's boot. */
function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return `${boot}/${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]}`
  } catch {
    return ''
  }
}
