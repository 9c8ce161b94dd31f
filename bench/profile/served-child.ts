/** Runs `toolgate serve` as a child process: starts and stops it and its profiler. Also the directory of the package. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { within } from '../../src/base/async/within.ts'

/** From the parent, over the channel of `child_process.spawn`. */
export type ProfilerOrder =
  | { readonly order: 'start'; readonly intervalUs: number }
  /** `file` takes the profile in the format of the DevTools protocol (`Profiler.Profile`, as JSON). */
  | { readonly order: 'stop'; readonly file: string }

/** To the parent: the order was carried out, or `fault` says why not. */
export interface ProfilerResponse {
  readonly done: ProfilerOrder['order']
  /** User and system time of the process so far, µs. */
  readonly cpuUs: number
  readonly fault?: string
}

export interface ServedChild {
  /** From its ready line. */
  readonly addresses: { readonly gateway_url: string; readonly api_url: string; readonly auth_url: string }
  /** @param intervalUs between two samples @returns CPU time of the process so far, µs */
  startProfile(intervalUs: number): Promise<number>
  /** @param file takes the profile @returns CPU time of the process so far, µs */
  stopProfile(file: string): Promise<number>
  stop(): Promise<void>
}

/** The directory of the package, which contains policies, ToolSets and plans. */
export const PACKAGE_DIR = fileURLToPath(new URL('../../', import.meta.url))

/** The single modules of the build, not the bundle: a profile has to name files. */
const ENTRY = fileURLToPath(new URL('../../dist/app/cli/index.js', import.meta.url))

const READY_MS = 90_000
const RESPONSE_MS = 60_000
/** Longer than a drain takes. */
const STOP_MS = 20_000
/** The last lines of output are part of the error when the child does not start. */
const MAX_KEPT_LINES = 20

/** @throws Error with the last lines of output if it ends, or is not ready within READY_MS */
export async function startServed(name: string, env: Readonly<Record<string, string>>): Promise<ServedChild> {
  const child = spawn(process.execPath, [...nodeOptions(), ENTRY, 'serve'], {
    cwd: PACKAGE_DIR,
    // without the settings of the caller: a profile must not write to a production database
    env: { ...systemEnv(), ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  const output: string[] = []
  const keep = (line: string): void => {
    output.push(line)
    if (output.length > MAX_KEPT_LINES) output.shift()
  }
  const lines = createInterface({ input: child.stdout! }).on('line', keep)
  createInterface({ input: child.stderr! }).on('line', keep)
  const failure = (why: string): Error => new Error(`the ${name} ${why}\n${output.join('\n')}`)
  try {
    const started = new Promise<string | Error>(resolve => {
      child.once('error', resolve)
      child.once('exit', (code, signal) =>
        resolve(failure(`ended with ${signal ?? `code ${code}`} before it was ready`)),
      )
      lines.on('line', line => {
        if (line.startsWith('{"ready":true')) resolve(line)
      })
    })
    const ready = (await within(started, READY_MS)) ?? failure(`is not ready after ${READY_MS / 1000} s`)
    if (ready instanceof Error) throw ready
    return {
      addresses: JSON.parse(ready) as ServedChild['addresses'],
      startProfile: intervalUs => order(child, name, { order: 'start', intervalUs }),
      stopProfile: file => order(child, name, { order: 'stop', file }),
      stop: () => stop(child),
    }
  } catch (error) {
    await stop(child)
    throw error
  }
}

/** The options of this process, the TypeScript loader included when it runs from sources; without those of a debugger. */
function nodeOptions(): string[] {
  const inherited = process.execArgv.filter(option => !option.startsWith('--inspect'))
  return [...inherited, '--import', new URL('./profiler-agent.mjs', import.meta.url).href]
}

/** The variables that every process needs; none is a setting of Toolgate. */
function systemEnv(): Record<string, string> {
  const kept = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'TZ', 'SystemRoot']
  return Object.fromEntries(
    kept.flatMap(name => (process.env[name] === undefined ? [] : [[name, process.env[name]!]])),
  )
}

async function order(child: ChildProcess, name: string, message: ProfilerOrder): Promise<number> {
  const responded = new Promise<ProfilerResponse | Error>(resolve => {
    child.once('message', response => resolve(response as ProfilerResponse))
    child.once('exit', (code, signal) =>
      resolve(new Error(`the ${name} ended with ${signal ?? `code ${code}`} during the profile`)),
    )
    child.send(message, error => {
      if (error) resolve(error)
    })
  })
  const response = await within(responded, RESPONSE_MS)
  if (response instanceof Error) throw response
  const fault =
    response === undefined ? `the process did not respond within ${RESPONSE_MS / 1000} s` : response.fault
  if (response === undefined || fault !== undefined)
    throw new Error(`the ${name} could not ${message.order} its profile: ${fault}`)
  return response.cpuUs
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  if ((await within(ended, STOP_MS)) !== undefined) return
  child.kill('SIGKILL')
  await ended
}
