/** `toolgate doctor`: its options, and the examination of a gateway for the known clients. The steps are in `doctor/steps/`. */
import { type Command, Option } from 'commander'
import { type CommandContext, EXIT, footer, print, urlOption, usesColor } from './command.ts'
import { CLIENT_NAMES, CLIENTS, type ClientName } from './doctor/clients.ts'
import type { ClientReport } from './doctor/examine.ts'

interface DoctorOptions {
  readonly url: string
  readonly client?: ClientName
  readonly token?: string
  readonly name: string
  readonly json?: true
}

export function addDoctor(program: Command, context: CommandContext): void {
  program
    .command('doctor')
    .summary('find out why an MCP client cannot connect to a gateway')
    .description(
      `Connects to the gateway as each known MCP client does, with the name, protocol version and redirect URIs of that client. \
The steps: check the certificate, reach the endpoint, send a CORS preflight (for clients that are web pages), read the challenge in the 401 \
response, request the well-known documents for the path prefix (if the endpoint is below one), discover the protected resource and its \
authorization server, register a client, begin the login, send a token request with an invalid code, initialize, open the notification \
stream, list the tools, find the page on which users connect accounts at backends, and compare the names, number and size of the tools with the limits of the client. For each client, the command \
stops at the first step that fails, and prints the fix. With --token, a failed login step is a warning, and the report has one \
verdict for the token and one for the login. The command deletes the registered client afterwards if the identity provider \
allows the deletion.`,
    )
    .requiredOption(
      '--url <url>',
      'URL of the MCP endpoint; a URL without a path is completed with /mcp/sse (required)',
      endpointUrl,
    )
    .addOption(
      new Option('--client <name>', 'check only this client (default: all clients)').choices(CLIENT_NAMES),
    )
    .option(
      '--token <token>',
      'access token for the steps after the login; without it, the command skips the steps that need a token, because only a person can complete the login',
    )
    .option(
      '--name <name>',
      'name that the gateway has in the configuration of the client; some clients add it to each tool name, where it counts toward the limit for the length',
      'toolgate',
    )
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      footer(
        [
          'toolgate doctor --url http://localhost:8080',
          'toolgate doctor --url https://gateway.example.com/mcp --client cursor --token "$TOKEN"',
        ],
        '0 every checked client can connect (with --token: with this token), 1 a client cannot connect',
      ),
    )
    .action(async (options: DoctorOptions) => {
      context.exitCode = await doctor(options)
    })
}

async function doctor({ url, client: only, token, name: serverName, json }: DoctorOptions): Promise<number> {
  const { examine } = await import('./doctor/examine.ts')
  const { jsonReport, TextReport } = await import('./doctor/report.ts')
  const text = new TextReport(print, usesColor())
  const options = { url, token: token?.replace(/^Bearer /i, '').trim(), serverName }
  const reports: ClientReport[] = []
  for (const name of only === undefined ? CLIENT_NAMES : [only]) {
    const client = CLIENTS[name]
    if (!json) text.begin(url, client)
    const report = await examine(options, client, step => {
      if (!json) text.step(step)
    })
    if (!json) text.end(report, client)
    reports.push(report)
  }
  if (json) print(jsonReport(url, reports))
  else text.close()
  return reports.every(report => report.ok) ? EXIT.ok : EXIT.failed
}

/** An address without path means the default endpoint. */
function endpointUrl(text: string): string {
  urlOption(text)
  const url = new URL(text)
  url.hash = ''
  if (url.pathname === '/') url.pathname = '/mcp/sse'
  return url.href
}
