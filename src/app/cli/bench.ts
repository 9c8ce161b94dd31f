/** `toolgate bench`: finds the measurement that is asked for. It measures nothing itself. */
import { profile } from './bench/profile.ts'

const EXIT_USAGE = 64

const HELP = `Usage: toolgate bench profile [options]

  profile  load a gateway and show where its CPU time goes: a flame graph and the dearest functions

'toolgate bench profile --help' tells more. Exit codes: 0 done, 1 not measured, 64 usage.
`

/** @returns the exit code */
export async function bench([what, ...rest]: string[]): Promise<number> {
  if (what === 'profile') return profile(rest)
  if (what === '--help' || what === '-h') {
    process.stdout.write(HELP)
    return 0
  }
  const fault = what === undefined ? 'what is to be measured?' : `there is no "${what}"`
  process.stderr.write(`toolgate bench: ${fault}\n\n${HELP}`)
  return EXIT_USAGE
}
