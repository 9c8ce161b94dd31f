/** Finds the pinned `opa`, and runs programs. `app/cli/policy/programs.ts` downloads it. */
import { execFile } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { basename, delimiter, join, resolve } from 'node:path'

/** One pinned version: another compiler may produce other bytes from the same sources. */
export const OPA_VERSION = '1.22.0'
const EXECUTABLE = process.platform === 'win32' ? '.exe' : ''

const RUN_TIMEOUT_MS = 120_000
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024

export type Environment = Readonly<Record<string, string | undefined>>

export interface Ran {
  /** -1 when it was ended after its time-out or by the system; the last line of `stderr` says which. */
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

/** @param name of the program in messages, where a shell starts it */
export interface RunOptions {
  readonly cwd?: string
  readonly env: Environment
  readonly timeoutMs?: number
  readonly name?: string
}

/** Runs a program to its end. @throws Error when it cannot be started or writes too much. */
export function runProgram(program: string, args: readonly string[], options: RunOptions): Promise<Ran> {
  const { cwd, env, timeoutMs: timeout = RUN_TIMEOUT_MS, name = basename(program) } = options
  const settings = { cwd, env: env as NodeJS.ProcessEnv, timeout, maxBuffer: MAX_OUTPUT_BYTES }
  return new Promise((done, fail) => {
    execFile(program, args, settings, (error, stdout, stderr) => {
      if (error === null) return done({ exitCode: 0, stdout, stderr })
      if (typeof error.code === 'number') return done({ exitCode: error.code, stdout, stderr })
      const { killed = false, signal } = error
      if (!killed && typeof signal !== 'string') return fail(error)
      // a bound of `ulimit` and a system without memory end it with a signal that is not ours
      const why = killed
        ? 'took too long and was stopped'
        : `was stopped by ${signal}, probably because it needed too much time or memory`
      done({ exitCode: -1, stdout, stderr: `${stderr}${name} ${why}.\n` })
    })
  })
}

/**
 * Looks on the PATH, then in the tools folder.
 * @returns the address of an `opa` of the pinned version; undefined when there is none.
 */
export async function findOpa(toolsDir: string, env: Environment): Promise<string | undefined> {
  const folders = [...(env.PATH ?? '').split(delimiter).filter(folder => folder !== ''), toolsDir]
  for (const folder of folders) {
    const candidate = resolve(join(folder, `opa${EXECUTABLE}`))
    if (isExecutable(candidate) && (await versionOf(candidate, env)) === OPA_VERSION) return candidate
  }
  return undefined
}

export function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

async function versionOf(opa: string, env: Environment): Promise<string | undefined> {
  try {
    const { stdout } = await runProgram(opa, ['version'], { env, timeoutMs: 10_000 })
    return /^Version: (\S+)/m.exec(stdout)?.[1]
  } catch {
    return undefined
  }
}
