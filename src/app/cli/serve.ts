/** `toolgate serve`: starts the deployment, prints how to use it and the ready line, and stops it on a signal. */
import { parseArgs } from 'node:util'
import { type Running, start } from '../main.ts'
import { readSettings, type Settings, SettingsError } from '../settings.ts'
import { welcome } from './welcome.ts'

const EXIT_USAGE = 64
const EXIT_CONFIG = 78

const HELP = `Usage: toolgate serve

Starts the gateway and everything it needs. All settings come from the environment; see README.md for the table.
It is ready when it prints a line on stdout that begins with {"ready":true. SIGTERM or SIGINT drains and stops it.
`

export async function serve(args: string[]): Promise<number> {
  try {
    const { values } = parseArgs({ args, options: { help: { type: 'boolean', short: 'h' } } })
    if (values.help === true) {
      process.stdout.write(HELP)
      return 0
    }
  } catch (error) {
    process.stderr.write(`toolgate serve: ${(error as Error).message}\n\n${HELP}`)
    return EXIT_USAGE
  }
  let settings: Settings
  try {
    settings = readSettings()
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error
    process.stderr.write(`toolgate: ${error.message}\n`)
    return EXIT_CONFIG
  }
  let running: Running
  try {
    running = await start(settings)
  } catch (error) {
    process.stderr.write(
      `toolgate: cannot start: ${error instanceof Error ? error.message : String(error)}\n`,
    )
    return EXIT_CONFIG
  }
  process.stdout.write(welcome(running))
  process.stdout.write(`${JSON.stringify({ ready: true, ...running.addresses })}\n`)
  return new Promise(resolve => {
    let stopping = false
    const stop = (): void => {
      if (stopping) process.exit(1) // a second signal means: now
      stopping = true
      void running.stop().then(() => {
        resolve(0)
        process.exit(0)
      })
    }
    process.on('SIGTERM', stop)
    process.on('SIGINT', stop)
  })
}
