/** Starts the processes of a load run, each on a processor of its own choice, and reads what they cost. It sends no request. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { createInterface } from 'node:readline'

/** Server under test on the first processor; backend and load on the second, where there is one. */
export type Side = 'server' | 'load'

export interface Child {
  readonly pid: number
  /** The first line it printed. */
  readonly said: string
  /** User and system time so far, µs; the processes it has started are not in it. */
  cpuUs(): number
  /** Resident memory, MiB. */
  rssMiB(): number
  stop(): Promise<void>
}

export interface ChildOptions {
  readonly side: Side
  readonly env?: Record<string, string>
  /** Which line means that it is ready; the first one when absent. */
  readonly ready?: (line: string) => boolean
}

const START_MS = 60_000

export function startChild(command: string, args: readonly string[], options: ChildOptions): Promise<Child> {
  const [file, ...all] =
    availableParallelism() > 1
      ? ['taskset', '-c', options.side === 'server' ? '0' : '1', command, ...args]
      : [command, ...args]
  const child = spawn(file!, all, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...options.env },
  })
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`${command} ${args.join(' ')} is not ready after ${START_MS} ms`)),
      START_MS,
    )
    child.once('error', reject)
    child.once('exit', code =>
      reject(new Error(`${command} ${args.join(' ')} ended with ${code} before it was ready`)),
    )
    createInterface({ input: child.stdout! }).on('line', said => {
      if (options.ready?.(said) === false) return
      clearTimeout(timer)
      resolve({
        pid: child.pid!,
        said,
        cpuUs: () => cpuUsOf(child.pid!),
        rssMiB: () => rssMiBOf(child.pid!),
        stop: () => stop(child),
      })
    })
  })
}

/** Node with TypeScript, for the servers of this folder. They print their port. */
export function startServer(file: string, args: readonly string[], side: Side): Promise<Child> {
  return startChild(process.execPath, ['--import', 'tsx', file, ...args], { side })
}

function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve()
  return new Promise(resolve => {
    child.once('exit', () => resolve())
    child.kill('SIGTERM')
  })
}

const TICK_US = 10_000

/** proc(5): the fields 14 and 15 of stat, counted behind the name, which may hold spaces. */
export function cpuUsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) * TICK_US
}

export function rssMiBOf(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024
}
