/** `toolgate demo`: does the main job against a running gateway, over HTTP like any client, and checks every answer. */
import { parseArgs } from 'node:util'
import { type ControlPlaneDemoOptions, walkControlPlane } from './demo/control-plane.ts'
import { DemoFailure } from './demo/demo-failure.ts'
import { walk } from './demo/steps.ts'
import { JsonTranscript, TextTranscript, type Transcript } from './demo/transcript.ts'

const EXIT_USAGE = 64
const DEFAULT_URL = 'http://localhost:8080'
const DEFAULT_API_URL = 'http://localhost:8081'
/** Asked for the token endpoint when the gateway does not name its authorization server. */
const DEFAULT_AUTH_URL = 'http://localhost:8082/realms/platform'

const HELP = `Usage: toolgate demo [--url URL] [--auth-url URL] [--json]
       toolgate demo --control-plane [--api-url URL] [--upstream-url URL] [--url URL] [--auth-url URL] [--json]

Gets a token, lists the tools, calls one over REST and the same over JSON-RPC, is refused by the policy, is stopped by
the quota and let in again. Shows each exchange and checks it. Needs a gateway with the example shop, as 'npm start'
brings it, and can be repeated.

With --control-plane it walks from a new tenant over API, plan, subscription and approval to calls with the key, usage,
rotation and revocation, measures how fast each change reaches the gateway, and deletes what it made.

  --url URL       the gateway (GATEWAY_URL, else ${DEFAULT_URL})
  --auth-url URL  issuer to ask when the gateway does not name one (AUTH_ISSUER, else ${DEFAULT_AUTH_URL})
  --control-plane walk through the control plane instead
  --api-url URL   the control plane (API_URL, else ${DEFAULT_API_URL})
  --upstream-url URL  backend that the gateway reaches; absent: one of the demo's own on 127.0.0.1
  --json          one JSON object per step instead of text
  --help

Exit codes: 0 everything behaved, 1 something did not (it says what was expected), 64 usage.
`

/** @returns the exit code */
export async function demo(args: string[]): Promise<number> {
  const options = readOptions(args)
  if (typeof options === 'number') return options
  const transcript: Transcript = options.json
    ? new JsonTranscript(write)
    : new TextTranscript(write, colours())
  try {
    if (options.controlPlane) await walkControlPlane(options, transcript)
    else await walk(options, transcript)
    transcript.end()
    return 0
  } catch (error) {
    if (!(error instanceof DemoFailure)) throw error
    transcript.fail(error.expected, error.got)
    return 1
  }
}

interface Options extends ControlPlaneDemoOptions {
  readonly controlPlane: boolean
  readonly json: boolean
}

function readOptions(args: string[]): Options | number {
  try {
    const { values } = parseArgs({
      args,
      options: {
        url: { type: 'string', default: process.env.GATEWAY_URL || DEFAULT_URL },
        'auth-url': { type: 'string', default: process.env.AUTH_ISSUER || DEFAULT_AUTH_URL },
        'control-plane': { type: 'boolean', default: false },
        'api-url': { type: 'string', default: process.env.API_URL || DEFAULT_API_URL },
        'upstream-url': { type: 'string' },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
    if (values.help) {
      process.stdout.write(HELP)
      return 0
    }
    return {
      url: address('--url', values.url),
      authUrl: address('--auth-url', values['auth-url']),
      apiUrl: address('--api-url', values['api-url']),
      upstreamUrl:
        values['upstream-url'] === undefined ? undefined : address('--upstream-url', values['upstream-url']),
      controlPlane: values['control-plane'],
      json: values.json,
    }
  } catch (error) {
    process.stderr.write(`toolgate demo: ${(error as Error).message}\n\n${HELP}`)
    return EXIT_USAGE
  }
}

function address(option: string, value: string): string {
  if (!URL.canParse(value) || !/^https?:$/.test(new URL(value).protocol))
    throw new Error(`${option} is "${value}"; write it as http://host[:port]`)
  return value.replace(/\/+$/, '')
}

function colours(): boolean {
  return process.stdout.isTTY === true && !process.env.NO_COLOR
}

function write(text: string): void {
  process.stdout.write(text)
}
