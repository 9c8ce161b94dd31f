/** `toolgate demo`: its options, and the run of one of the two demos. The steps are in `demo/`. */
import { type Command, InvalidArgumentError } from 'commander'
import { type CommandContext, EXIT, footer, print, urlOption, usesColor } from './command.ts'
import type { Transcript } from './demo/transcript.ts'

const DEFAULT_URL = 'http://localhost:8080'
const DEFAULT_API_URL = 'http://localhost:8081'
/** Used for the token endpoint when the gateway does not name its authorization server. */
const DEFAULT_AUTH_URL = 'http://localhost:8082/realms/platform'

interface DemoFlags {
  readonly url?: string
  readonly authUrl?: string
  readonly apiUrl?: string
  readonly upstreamUrl?: string
  readonly controlPlane?: true
  readonly json?: true
}

export function addDemo(program: Command, context: CommandContext): void {
  program
    .command('demo')
    .summary('call the tools of the example shop on a running gateway, and check each response')
    .description(
      `Gets a token, lists the tools, places an order in the example shop over REST and over JSON-RPC, makes a call that the policy \
denies, makes more calls than the quota allows, waits, and cancels the order. Prints each request and its response, and checks the \
response. Requires a gateway with the example shop, and an identity provider with the clients demo-agent and demo-viewer: in \
development, \`toolgate serve\` starts both. You can run the demo repeatedly.

With --control-plane: creates a tenant, an API, a plan and a subscription, approves the subscription, calls the API with \
the key, reads the usage, rotates and revokes the key, measures the time until each change reaches the gateway, and deletes \
the created resources. Requires a control plane, a gateway that is connected to it, and an identity provider with the client demo-admin.`,
    )
    .option(
      '--url <url>',
      `URL of the gateway (default: environment variable GATEWAY_URL, else ${DEFAULT_URL})`,
      urlOption,
    )
    .option(
      '--auth-url <url>',
      `issuer of the tokens; used only if the gateway names no authorization server (default: environment variable AUTH_ISSUER, else ${DEFAULT_AUTH_URL})`,
      urlOption,
    )
    .option('--control-plane', 'demonstrate the control plane instead of the tools')
    .option(
      '--api-url <url>',
      `URL of the control plane, without /v1; only with --control-plane (default: environment variable API_URL, else ${DEFAULT_API_URL})`,
      urlOption,
    )
    .option(
      '--upstream-url <url>',
      'URL to which the gateway forwards the calls of the API that the demo creates; GET <url>/hello must return status 200; only with --control-plane (default: a server that the demo starts on 127.0.0.1)',
      urlOption,
    )
    .option('--json', 'print one JSON object per step')
    .addHelpText(
      'after',
      footer(
        [
          'toolgate demo',
          'toolgate demo --url http://localhost:9080 --json',
          'toolgate demo --control-plane --api-url http://localhost:8081',
        ],
        '0 every response was as expected, 1 an unexpected or missing response',
      ),
    )
    .action(async (flags: DemoFlags) => {
      context.exitCode = await demo(flags, context.env)
    })
}

async function demo(flags: DemoFlags, env: CommandContext['env']): Promise<number> {
  const options = {
    url: flags.url ?? urlFromEnv(env, 'GATEWAY_URL', DEFAULT_URL),
    authUrl: flags.authUrl ?? urlFromEnv(env, 'AUTH_ISSUER', DEFAULT_AUTH_URL),
  }
  const { DemoFailure } = await import('./demo/demo-failure.ts')
  const { JsonTranscript, TextTranscript } = await import('./demo/transcript.ts')
  const transcript: Transcript = flags.json
    ? new JsonTranscript(print)
    : new TextTranscript(print, usesColor())
  try {
    if (flags.controlPlane) {
      const { walkControlPlane } = await import('./demo/control-plane.ts')
      const apiUrl = flags.apiUrl ?? urlFromEnv(env, 'API_URL', DEFAULT_API_URL)
      await walkControlPlane({ ...options, apiUrl, upstreamUrl: flags.upstreamUrl }, transcript)
    } else {
      const { walk } = await import('./demo/steps.ts')
      await walk(options, transcript)
    }
    transcript.end()
    return EXIT.ok
  } catch (error) {
    if (!(error instanceof DemoFailure)) throw error
    transcript.fail(error.expected, error.got)
    return EXIT.failed
  }
}

function urlFromEnv(env: CommandContext['env'], name: string, fallback: string): string {
  try {
    return urlOption(env[name] || fallback)
  } catch (error) {
    throw new InvalidArgumentError(`${name} is invalid. ${(error as Error).message}`)
  }
}
