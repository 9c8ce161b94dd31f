#!/usr/bin/env node
/** The entry point of the `toolgate` process: signals, umask, closed pipes, exit code. It defines no command. */
import { catchStopSignals } from './signals.ts'

/** Commands that create files in DATA_DIR or the embedded database, which only this user may read. */
const WRITES_DATA = new Set(['serve', 'db', 'audit', 'metering'])

/** The other commands end at a signal by default, or listen for one themselves. */
const RUNS_UNTIL_STOPPED = new Set(['serve', 'bridge', 'config follow'])

const [, , first = '', second = ''] = process.argv
if (RUNS_UNTIL_STOPPED.has(first) || RUNS_UNTIL_STOPPED.has(`${first} ${second}`)) catchStopSignals()
// loading the commands takes a while: the signals have to be caught before
const { runCommand } = await import('./program.ts')
// the help of a command is printed before its action
process.stdout.on('error', exitOnClosedPipe)
process.exitCode = await runCommand(process.argv.slice(2), process.env, {
  beforeAction(name) {
    // before any worker thread starts: threads inherit the umask and cannot set one
    if (WRITES_DATA.has(name.split(' ', 1)[0]!)) process.umask(0o077)
    if (RUNS_UNTIL_STOPPED.has(name)) process.stdout.off('error', exitOnClosedPipe)
  },
})

/** A reader such as `head` may close the pipe early. */
function exitOnClosedPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error
  process.exit(0)
}
