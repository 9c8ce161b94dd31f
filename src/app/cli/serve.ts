/** `toolgate serve`: checks the settings, starts the deployment, reports that it is ready, and stops it on a signal. */
import type { Command } from 'commander'
import type { ToolSetCompiler } from '../../catalog/sync/compile-job.ts'
import type { Running } from '../main.ts'
import { findFileFaults } from '../settings/files.ts'
import { inspectSettings, SettingsError } from '../settings.ts'
import { type CommandContext, CommandFailure, EXIT, footer, print } from './command.ts'
import { onStopSignal } from './signals.ts'
import { startFailure } from './start-failure.ts'
import { welcome } from './welcome.ts'

export function addServe(program: Command, context: CommandContext): void {
  program
    .command('serve')
    .summary(
      'start the gateway, the control plane or both; in development, also an identity provider and an example shop',
    )
    .description(
      `Starts what the environment variable ROLE names: gateway, control-plane, or all (default), which is both in one process. \
In development (unless NODE_ENV=production), also starts an identity provider if AUTH_ISSUER is not set and, with the gateway, an example shop \
unless EXAMPLE=false. Reads all settings from environment variables; docs/reference/settings.md in the source repository lists them.

When the process is ready, it prints a line on stdout that begins with {"ready":true and contains the URLs of the servers. At SIGTERM or SIGINT, \
the process completes the calls in flight (for at most DRAIN_TIMEOUT) and ends; at a second signal, it ends immediately.`,
    )
    .addHelpText(
      'after',
      footer(
        [
          'toolgate serve',
          'GATEWAY_PORT=9080 LOG_LEVEL=debug toolgate serve',
          'ROLE=control-plane GATEWAY_URL=https://gateway.example.com toolgate serve',
        ],
        '0 stopped by a signal, 78 wrong configuration or a failed start',
      ),
    )
    .action(async () => {
      context.exitCode = await serve(context.env)
    })
}

async function serve(env: CommandContext['env']): Promise<number> {
  const stopping = new AbortController()
  const stopped = new Promise<void>(resolve => stopping.signal.addEventListener('abort', () => resolve()))
  onStopSignal(() => stopping.abort())
  const { settings, faults } = inspectSettings(env)
  const all = [...faults, ...(await findFileFaults(settings))]
  if (all.length > 0) throw new SettingsError(all)
  const compiler = settings.role === 'control-plane' ? undefined : await startCompiler()
  const { start } = await import('../main.ts')
  if (stopping.signal.aborted) process.exit(EXIT.ok)
  let running: Running
  try {
    running = await start(settings, { signal: stopping.signal, ownsProcess: true, compiler })
  } catch (error) {
    if (stopping.signal.aborted) process.exit(EXIT.ok)
    throw new CommandFailure(`cannot start: ${startFailure(error, settings)}`, EXIT.config)
  }
  await Promise.race([running.ready, stopped])
  if (!stopping.signal.aborted) {
    print(welcome(running))
    print(`${JSON.stringify({ ready: true, ...running.addresses })}\n`)
  }
  await stopped
  await running.stop()
  return process.exit(EXIT.ok)
}

/** Its thread loads on another processor while this thread loads the gateway, which then waits less for its first tools. */
async function startCompiler(): Promise<ToolSetCompiler> {
  const { createCompiler } = await import('../../catalog/sync/compiler.ts')
  const compiler = createCompiler()
  compiler.prepare()
  return compiler
}
