/** Runs a load program again with a V8 that collects seldom, and without threads that would have to share the load's processor. */
import { spawn } from 'node:child_process'

/** Size of the young generation (MiB): the load's own collections would be counted as latencies of the server. */
const FLAGS = ['--single-threaded-gc', '--min-semi-space-size=64', '--max-semi-space-size=64']

/** @returns the exit code of the program there, or undefined: this is the process that has the flags, and `main` has to be run in it */
export function elsewhere(): Promise<number> | undefined {
  if (process.execArgv.includes(FLAGS[0]!)) {
    // a parent that was killed cannot say so
    process.once('disconnect', () => process.exit(1))
    process.channel?.unref()
    return undefined
  }
  const [, file, ...args] = process.argv
  const child = spawn(process.execPath, [...FLAGS, ...process.execArgv, file!, ...args], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', code => resolve(code ?? 1))
  })
}
