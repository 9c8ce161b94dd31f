/** `toolgate doctor`: walks to a gateway as the clients people use do, and names the first step that fails and its mend. */
import { parseArgs } from 'node:util'
import { CLIENT_NAMES, CLIENTS, type ClientName } from './doctor/clients.ts'
import { type ClientReport, examine } from './doctor/examine.ts'
import { jsonReport, TextReport } from './doctor/report.ts'

const EXIT_FOUND = 1
const EXIT_USAGE = 64

const HELP = `Usage: toolgate doctor --url URL [--client NAME] [--token TOKEN] [--json]

Does what a client does to connect, in its order and with its redirect addresses, scopes and headers: reach the endpoint,
read the challenge, discover resource and authorization server, register, begin the login, ask for a token, initialize, open
the stream, list the tools, and count the names as the client counts them. Stops at the first step that fails and says how
to mend it. It registers a client at the identity provider and removes it again where that allows it.

  --url URL      the MCP endpoint, or the gateway's address
  --client NAME  ${CLIENT_NAMES.join(', ')}; all of them when left out
  --token TOKEN  an access token, for the list and the names; no login is done without a person
  --name NAME    what the server is called in the client, default toolgate; it counts into the names
  --json         one JSON object instead of text
  -h, --help

Exit codes: 0 every client can connect, 1 one cannot (it says why), 64 usage.
`

/** @returns the exit code */
export async function doctor(args: string[]): Promise<number> {
  const options = readOptions(args)
  if (typeof options === 'number') return options
  const { url, clients, json, ...examined } = options
  const text = new TextReport(write, colours())
  const reports: ClientReport[] = []
  for (const name of clients) {
    const client = CLIENTS[name]
    if (!json) text.begin(url, client)
    const report = await examine({ url, ...examined }, client, step => {
      if (!json) text.step(step)
    })
    if (!json) text.end(report, client)
    reports.push(report)
  }
  if (json) write(jsonReport(url, reports))
  else text.close()
  return reports.every(report => report.ok) ? 0 : EXIT_FOUND
}

interface Options {
  readonly url: string
  readonly clients: readonly ClientName[]
  readonly token: string | undefined
  readonly serverName: string
  readonly json: boolean
}

function readOptions(args: string[]): Options | number {
  try {
    const { values } = parseArgs({
      args,
      options: {
        url: { type: 'string' },
        client: { type: 'string' },
        token: { type: 'string' },
        name: { type: 'string', default: 'toolgate' },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
    if (values.help) {
      write(HELP)
      return 0
    }
    return {
      url: endpoint(values.url),
      clients: values.client === undefined ? CLIENT_NAMES : [clientNamed(values.client)],
      token: values.token?.replace(/^Bearer /i, '').trim(),
      serverName: values.name,
      json: values.json,
    }
  } catch (error) {
    process.stderr.write(`toolgate doctor: ${(error as Error).message}\n\n${HELP}`)
    return EXIT_USAGE
  }
}

function endpoint(text: string | undefined): string {
  if (text === undefined) throw new Error('--url is missing')
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw new Error(`--url is "${text}"; write it as http://host[:port][/path]`)
  const url = new URL(text)
  url.hash = ''
  if (url.pathname === '/') url.pathname = '/mcp/sse'
  return url.href
}

function clientNamed(text: string): ClientName {
  const name = CLIENT_NAMES.find(known => known === text)
  if (name === undefined) throw new Error(`--client is "${text}"; it is one of ${CLIENT_NAMES.join(', ')}`)
  return name
}

function colours(): boolean {
  return process.stdout.isTTY === true && !process.env.NO_COLOR
}

function write(text: string): void {
  process.stdout.write(text)
}
