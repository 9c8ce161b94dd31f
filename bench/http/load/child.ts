/** Starts the processes of a load run, pins them and this one to processors, reads their cost and puts questions to them over IPC. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { createInterface } from 'node:readline'

/**
 * Server under test on the first processor; backend and load on the second, where there is one. `any`: the system decides.
 * `spare`: on idle processors only (sched(7), SCHED_IDLE), for what is needed and not measured.
 */
export type Side = 'server' | 'load' | 'any' | 'spare'

export interface Child {
  readonly pid: number
  /** The first line it printed. */
  readonly said: string
  /** From its start until it was ready. */
  readonly readyMs: number
  /** User and system time so far, µs; the processes it has started are not in it. */
  cpuUs(): number
  /** Resident memory, MiB. */
  rssMiB(): number
  /** What `inside.mjs` reports; only where it was loaded. */
  ask(question: string, about?: string): Promise<unknown>
  /** It gets no processor until `resume`. */
  pause(): void
  resume(): void
  stop(): Promise<void>
}

export interface ChildOptions {
  readonly side: Side
  readonly env?: Readonly<Record<string, string>>
  /** Working directory; that of this process when absent. */
  readonly cwd?: string
  /** Which line means that it is ready; the first one when absent. */
  readonly ready?: (line: string) => boolean
  /** Opens a channel for questions. */
  readonly questions?: boolean
}

const START_MS = 60_000

/** A run that is interrupted leaves no process behind. */
const started = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of started) child.kill('SIGKILL')
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
const PINS = availableParallelism() > 1 && spawnSync('taskset', ['-V']).error === undefined
const ALL = '0-1023'
const PROCESSORS = { server: '0', load: '1', any: ALL, spare: ALL } as const

/** Moves this process, which holds backend and load, to their processor. @returns whether processes are pinned on this machine */
export function pinLoad(): boolean {
  if (PINS) spawnSync('taskset', ['-acp', PROCESSORS.load, String(process.pid)])
  return PINS
}

/** Back to all processors, for runs in which the server has them all too. */
export function unpinLoad(): void {
  if (PINS) spawnSync('taskset', ['-acp', ALL, String(process.pid)])
}

/** The command on its processor. Without a side it must say `any`: it would inherit the one of this process. */
export function pinned(side: Side, command: string, args: readonly string[]): [string, string[]] {
  if (!PINS) return [command, [...args]]
  const idle = side === 'spare' ? ['chrt', '--idle', '0'] : []
  return ['taskset', ['-c', PROCESSORS[side], ...idle, command, ...args]]
}

export function startChild(command: string, args: readonly string[], options: ChildOptions): Promise<Child> {
  const startedAt = performance.now()
  const child = spawn(...pinned(options.side, command, args), {
    stdio: ['ignore', 'pipe', 'inherit', ...(options.questions === true ? (['ipc'] as const) : [])],
    env: { ...process.env, ...options.env },
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  })
  started.add(child)
  child.once('exit', () => started.delete(child))
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      child.kill('SIGKILL')
      reject(new Error(`${command} ${args.join(' ')} is not ready after ${START_MS} ms`))
    }, START_MS)
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
        readyMs: performance.now() - startedAt,
        cpuUs: () => cpuUsOf(child.pid!),
        rssMiB: () => rssMiBOf(child.pid!),
        ask: (question, about) => ask(child, question, about),
        pause: () => void child.kill('SIGSTOP'),
        resume: () => void child.kill('SIGCONT'),
        stop: () => stop(child),
      })
    })
  })
}

/** Node with TypeScript, for the servers of this folder. They print their port. */
export function startServer(file: string, args: readonly string[], side: Side): Promise<Child> {
  return startChild(process.execPath, ['--import', 'tsx', file, ...args], { side })
}

/** One question at a time. */
function ask(child: ChildProcess, question: string, about?: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const gone = (code: number | null): void => reject(new Error(`the server ended with ${code}`))
    child.once('exit', gone)
    child.once('message', message => {
      child.off('exit', gone)
      resolve((message as { response: unknown }).response)
    })
    child.send({ question, about })
  })
}

const STOP_MS = 20_000

function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve()
  return new Promise(resolve => {
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
    child.once('exit', () => {
      clearTimeout(timer)
      resolve()
    })
    child.kill('SIGTERM')
    // one that is paused does not receive it
    child.kill('SIGCONT')
  })
}

const TICK_US = 10_000

/** proc(5): the fields 14 and 15 of stat, counted behind the name, which may hold spaces. All threads are in it. */
export function cpuUsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) * TICK_US
}

export function rssMiBOf(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024
}
