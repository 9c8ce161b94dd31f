#!/usr/bin/env node
/** The entry point of the `toolgate` process: umask, closed pipes, exit code. It defines no command. */
import { runCommand } from './program.ts'

/** They create files in DATA_DIR or the embedded database, which only this user may read. */
const WRITES_DATA = new Set(['serve', 'db', 'metering'])

process.exitCode = await runCommand(process.argv.slice(2), process.env, {
  beforeAction(name) {
    // before any worker thread starts: threads inherit the umask and cannot set one
    if (WRITES_DATA.has(name)) process.umask(0o077)
    if (name !== 'serve') exitOnClosedPipe()
  },
})

/** A reader such as `head` may close the pipe early. */
function exitOnClosedPipe(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    process.exit(0)
  })
}
