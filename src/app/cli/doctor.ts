/** `toolgate doctor`: connects to a gateway as each known client does, and names the first step that fails and its fix. It completes no login. */
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
    .summary('find out why a client cannot connect')
    .description(
      `Connects to the gateway as each known MCP client does, with the redirect addresses, scopes and headers of the client. \
The steps: check the certificate, reach the endpoint, send a CORS preflight, read the challenge of the 401, discover the \
protected resource and its authorization server, register, begin the login, request a token, initialize, open the stream, \
list the tools, and compare their names, number and size with the limits of the client. Stops at the first step that fails \
and prints the fix. With --token, a failed login step is a warning, and the report has one verdict for the token and one \
for the login. Registers a client at the identity provider, and deletes it afterwards if the provider allows this.`,
    )
    .requiredOption('--url <url>', "the MCP endpoint, or the gateway's address", endpointUrl)
    .addOption(new Option('--client <name>', 'check this client only (default: all)').choices(CLIENT_NAMES))
    .option('--token <token>', 'access token for the steps after the login; the login itself needs a person')
    .option(
      '--name <name>',
      'name of the server in the client; some clients add it to each tool name, and it counts toward their length limit',
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
        '0 every client can connect (with the token, if one is given), 1 a client cannot',
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
