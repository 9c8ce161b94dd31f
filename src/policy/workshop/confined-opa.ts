/** Makes a runner of `opa` with a confined environment, bounds on resources, and without some built-in functions. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RunOpa } from './never.ts'
import { runProgram } from './opa.ts'

/** Functions that reach the network or read the machine (a JSON schema may refer to a file); sources that use them do not compile. */
const REFUSED_FUNCTIONS: ReadonlySet<string> = new Set([
  'http.send',
  'json.match_schema',
  'json.verify_schema',
  'net.lookup_ip_addr',
  'opa.runtime',
])
const RUN_TIMEOUT_MS = 20_000
/** The commands that evaluate or compile, and take the list of permitted functions. */
const CAPABLE: ReadonlySet<string> = new Set(['build', 'check', 'eval', 'test'])
/** Address space in KiB, CPU time in seconds, largest file in blocks of 512 bytes. */
const BOUNDS = 'ulimit -v 3145728; ulimit -t 20; ulimit -f 131072'

/**
 * @param dir a folder of this run alone; the list of permitted functions and temporary files are written there
 * @throws Error when opa does not list its functions
 */
export async function confineOpa(opa: string, dir: string): Promise<RunOpa> {
  const env = { HOME: dir, TMPDIR: dir, GOMEMLIMIT: '512MiB', GOMAXPROCS: '2' }
  const run: RunOpa = (cwd, args) => {
    const options = { cwd, env, timeoutMs: RUN_TIMEOUT_MS, name: 'opa' }
    return process.platform === 'win32'
      ? runProgram(opa, args, options)
      : runProgram('/bin/sh', ['-c', `${BOUNDS}; exec "$0" "$@"`, opa, ...args], options)
  }
  const { exitCode, stdout, stderr } = await run(dir, ['capabilities', '--current'])
  if (exitCode !== 0) throw new Error(`opa capabilities --current failed: ${stderr.trim().slice(0, 500)}`)
  const all = JSON.parse(stdout) as { readonly builtins: readonly { readonly name: string }[] }
  const builtins = all.builtins.filter(({ name }) => !REFUSED_FUNCTIONS.has(name))
  const file = join(dir, 'capabilities.json')
  // without hosts, METADATA cannot refer to a schema at a remote address
  writeFileSync(file, JSON.stringify({ ...all, builtins, allow_net: [] }))
  return (cwd, args) => {
    const [command = '', ...rest] = args
    return run(cwd, CAPABLE.has(command) ? [command, '--capabilities', file, ...rest] : args)
  }
}
