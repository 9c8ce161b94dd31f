/** Finds or installs the pinned `opa`, and runs programs, Go among them. `release.ts` downloads releases. */
import { execFile } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { basename, delimiter, join, resolve } from 'node:path'
import { downloadRelease, type Release } from './release.ts'

/** One pinned version: another compiler may produce other bytes from the same sources. */
export const OPA_VERSION = '1.22.0'
const OPA_MODULE = 'github.com/open-policy-agent/opa'
const EXECUTABLE = process.platform === 'win32' ? '.exe' : ''

const RUN_TIMEOUT_MS = 120_000
/** Compiling a program from source on a slow machine. */
const BUILD_TIMEOUT_MS = 20 * 60_000
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

/** Has Go compile `program`. @throws Error that says what to install */
export async function runGo(
  args: readonly string[],
  options: { readonly cwd?: string; readonly env: Environment },
  program: string,
): Promise<Ran> {
  return runProgram('go', args, { ...options, timeoutMs: BUILD_TIMEOUT_MS }).catch(() => {
    throw new Error(
      `${program} cannot be built, because Go is not installed. Put ${program} or Go 1.26 on the PATH.`,
    )
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

function opaRelease(): Release {
  const system = process.platform === 'win32' ? 'windows' : process.platform
  const linking = process.platform === 'win32' ? EXECUTABLE : '_static'
  const file = `opa_${system}_${process.arch === 'x64' ? 'amd64' : process.arch}${linking}`
  const url = `https://${OPA_MODULE}/releases/download`
  return { program: 'opa', version: OPA_VERSION, url, file, checksums: `${file}.sha256` }
}

/**
 * Finds `opa`, or installs the pinned release into the tools folder: downloaded, else built with Go.
 * @param say called with a message before a slow step.
 * @throws Error that says what to install.
 */
export async function requireOpa(
  toolsDir: string,
  env: Environment,
  say: (line: string) => void,
): Promise<string> {
  const found = await findOpa(toolsDir, env)
  if (found !== undefined) return found
  say(`opa ${OPA_VERSION} is not on the PATH; downloading its release`)
  const missing = await downloadRelease(opaRelease(), resolve(join(toolsDir, `opa${EXECUTABLE}`)), env)
  const downloaded = missing === undefined ? await findOpa(toolsDir, env) : undefined
  if (downloaded !== undefined) return downloaded
  const module = `${OPA_MODULE}@v${OPA_VERSION}`
  say(
    `The release of opa ${OPA_VERSION} is not usable (${missing ?? 'it does not run on this machine'}); installing opa with \`go install ${module}\`, which takes some minutes`,
  )
  const goEnv = { ...env, GOBIN: resolve(toolsDir) }
  const ran = await runGo(['install', module], { env: goEnv }, `opa ${OPA_VERSION}`)
  const installed = ran.exitCode === 0 ? await findOpa(toolsDir, env) : undefined
  if (installed === undefined) {
    throw new Error(
      `\`go install ${module}\` failed: ${ran.stderr.trim().slice(-500)}. Put opa ${OPA_VERSION} on the PATH.`,
    )
  }
  return installed
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
