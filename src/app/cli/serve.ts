/** `toolgate serve`: checks the settings, starts the deployment, reports that it is ready, and stops it on a signal. */
import type { Command } from 'commander'
import type { ToolSetCompiler } from '../../catalog/sync/compile-job.ts'
import type { Running } from '../main.ts'
import { findFileFaults } from '../settings/files.ts'
import { inspectSettings, SettingsError } from '../settings.ts'
import { type CommandContext, CommandFailure, EXIT, footer, print } from './command.ts'
import { onStopSignal } from './signals.ts'
import { startFailure } from './start-failure.ts'

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

/** The thread of the compiler loads on another processor while this thread loads the gateway, which then waits less for its first tools. */
async function startCompiler(): Promise<ToolSetCompiler> {
  const { createCompiler } = await import('../../catalog/sync/compiler.ts')
  const compiler = createCompiler()
  compiler.prepare()
  return compiler
}

/** No line begins with `{`: only the ready line does. */
function welcome({ addresses, embedded, role, pages }: Running): string {
  if (role !== 'all') return onePlane({ addresses, role, pages })
  const { gateway_url, api_url, auth_url, metrics_url } = addresses
  const { provider: development, exampleUrl } = embedded
  const token = development
    ? `  TOKEN=$(curl -s ${auth_url}/protocol/openid-connect/token \\
    -d grant_type=client_credentials -d client_id=demo-agent -d client_secret=demo-agent-secret \\
    | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')`
    : `  TOKEN=…   # from your identity provider, ${auth_url}`
  return `
Toolgate is up.

  gateway        ${gateway_url}      MCP at ${gateway_url}/mcp/sse
  control plane  ${api_url}${linesOf(pages)}
  identity       ${auth_url}${development ? '   (embedded, for development only)' : ''}
  metrics        ${metrics_url}/metrics${exampleUrl === undefined ? '' : `\n  example shop   ${exampleUrl}`}

Get a token:

${token}

List the tools:

  curl -s -X POST ${gateway_url}/mcp/v1/tools -H "Authorization: Bearer $TOKEN"

Connect an MCP client:

  "mcpServers": { "toolgate": {
    "type": "http", "url": "${gateway_url}/mcp/sse",
    "headers": { "Authorization": "Bearer <the token>" } } }

Run the demo:  npx toolgate demo${gateway_url === 'http://localhost:8080' ? '' : ` --url ${gateway_url}`}

`
}

/** For one plane alone; the other one prints the rest. */
function onePlane({ addresses, role, pages }: Pick<Running, 'addresses' | 'role' | 'pages'>): string {
  const { gateway_url, api_url, auth_url, metrics_url } = addresses
  const own =
    role === 'gateway'
      ? `Toolgate gateway is up at ${gateway_url}`
      : `Toolgate control plane is up at ${api_url}`
  const other =
    role === 'gateway'
      ? `  control plane  ${api_url}`
      : `  gateways       ${gateway_url}      (ROLE=gateway, CONTROL_PLANE_URL=${api_url}, AUTH_ISSUER=${auth_url})`
  return `\n${own}\n\n${other}${linesOf(pages)}\n  identity       ${auth_url}\n  metrics        ${metrics_url}/metrics\n\n`
}

function linesOf(pages: Running['pages']): string {
  return Object.entries(pages)
    .map(([name, address]) => `\n  ${name.padEnd(15)}${address}`)
    .join('')
}
