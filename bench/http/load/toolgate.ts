/** The built gateway and its control plane as load runs need them: all checks on, the run's backend, a proxied API with its key. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { type Child, type Side, startChild } from './child.ts'
import { ControlApi, tokenOf } from './control-api.ts'

export interface Addresses {
  readonly gateway_url: string
  readonly api_url: string
  readonly auth_url: string
  readonly metrics_url: string
}

/** A started deployment or part of one. */
export type Served = Child & Addresses

/** A control plane with its identity provider, and what gateways beside it need. */
export interface ControlPlane extends Served {
  readonly api: ControlApi
  token(client: string): Promise<string>
}

export interface Toolgate extends Served {
  readonly url: string
  readonly control: ControlPlane
  /** Token of demo-admin, whose plan has no limits. */
  readonly token: string
  /** As many others of the same caller. */
  tokens(count: number): Promise<readonly string[]>
  /** API key of a subscription without limits to the API at `/t/acme/bench`. */
  readonly apiKey: string
  /** Changes the tools, so that listeners are notified; a second call restores them. */
  changeTools(): void
}

const FREE = { GATEWAY_PORT: '0', API_PORT: '0', AUTH_PORT: '0', METRICS_PORT: '0', EXAMPLE_PORT: '0' }
export const INSIDE = new URL('./inside.mjs', import.meta.url).href
/** Working tree whose build is measured, with its policies and plans; absent: this one. */
let tree: string | undefined

/** @param folder another working tree, which is built */
export function measureBuildIn(folder: string): void {
  tree = resolve(folder)
}

export interface ServeOptions {
  /** Whether `inside.mjs` is loaded into it. */
  readonly questions?: boolean
  /** For its runtime. */
  readonly nodeOptions?: readonly string[]
  /** Command that executes it: an emulator. */
  readonly runner?: readonly string[]
}

/** `toolgate serve` as it was built, with these settings. */
export async function serve(
  side: Side,
  env: Readonly<Record<string, string>>,
  { questions = true, nodeOptions = [], runner = [] }: ServeOptions = {},
): Promise<Served> {
  const inside = questions ? ['--expose-gc', '--import', INSIDE] : []
  const [command, ...args] = [...runner, process.execPath, ...nodeOptions, ...inside]
  const child = await startChild(command!, [...args, 'dist/cli/index.js', 'serve'], {
    ...(tree === undefined ? {} : { cwd: tree }),
    side,
    questions,
    ready: line => line.startsWith('{"ready":true'),
    env: { ...FREE, LOG_LEVEL: 'warn', ...env },
  })
  return { ...child, ...(JSON.parse(child.said) as Addresses) }
}

/** Idle except for the requests of its gateways; beside a load that is timed it would hold that up for milliseconds at a time. */
export async function startControlPlane(dir: string, side: Side = 'spare'): Promise<ControlPlane> {
  const served = await serve(side, {
    LOG_LEVEL: 'error',
    EXAMPLE: 'false',
    DATA_DIR: join(dir, 'control'),
    DATABASE_URL: 'pglite:memory',
    WORKERS: '1',
  })
  const token = (client: string): Promise<string> => tokenOf(served.auth_url, client)
  return { ...served, token, api: new ControlApi(served.api_url, await token('demo-admin')) }
}

/** For a gateway by itself beside a control plane. */
export function gatewayEnv(control: Addresses, dir: string, name: string): Record<string, string> {
  return {
    ROLE: 'gateway',
    EXAMPLE: 'false',
    DATA_DIR: join(dir, name),
    CONTROL_PLANE_URL: control.api_url,
    AUTH_ISSUER: control.auth_url,
    GATEWAY_NAME: name,
    GATEWAY_CLIENT_ID: 'gateway',
    GATEWAY_CLIENT_SECRET: 'gateway-secret',
    // as in production
    DECISION_LOG_PERCENT: '1',
    METERING_ENABLED: 'true',
    ALLOWED_AUDIENCES: 'platform-mcp-gateway',
  }
}

export interface ToolgateOptions {
  readonly upstream: string
  readonly workers: number
  readonly side: Side
  readonly env?: Readonly<Record<string, string>>
  /** Address of an MCP server whose tools are served too, with the prefix `mcp_`. */
  readonly mcpServer?: string
  /** Calls a month of demo-agent and demo-viewer, 0 without end; absent: their plan of the example. */
  readonly agentPerMonth?: number
  /** For the gateway, as in `ServeOptions`. */
  readonly nodeOptions?: readonly string[]
  readonly runner?: readonly string[]
  /** For the control plane: `spare` when absent. Where nothing is timed it need not wait for idle processors, which a busy machine has none of. */
  readonly controlSide?: Side
}

/** A folder of tool sets: the example's of this working tree, with this upstream. */
export function copyToolSets(dir: string, upstream: string): { readonly path: string; change(): void } {
  const path = join(dir, 'toolsets')
  cpSync('toolsets', path, { recursive: true })
  const shop = join(path, 'shop.yaml')
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the tool-set's own placeholder
  const all = readFileSync(shop, 'utf8').replaceAll('${EXAMPLE_URL}', upstream).trimEnd()
  writeFileSync(shop, all)
  let fewer = false
  return {
    path,
    change() {
      fewer = !fewer
      writeFileSync(shop, fewer ? `${all}\n  selector:\n    methods: [GET]\n` : all)
    },
  }
}

function writeMcpToolSet(path: string, url: string): void {
  const toolSet = {
    apiVersion: 'toolgate.dev/v1alpha1',
    kind: 'ToolSet',
    metadata: { name: 'mcp-server', namespace: 'platform' },
    spec: {
      displayName: 'MCP server',
      source: { mcp: { url, transport: 'streamable' } },
      naming: { prefix: 'mcp_' },
    },
  }
  writeFileSync(join(path, 'mcp-server.json'), JSON.stringify(toolSet))
}

export async function startToolgate(options: ToolgateOptions): Promise<Toolgate> {
  const dir = mkdtempSync(join(tmpdir(), 'toolgate-load-'))
  const toolSets = copyToolSets(dir, options.upstream)
  if (options.mcpServer !== undefined) writeMcpToolSet(toolSets.path, options.mcpServer)
  const control = await startControlPlane(dir, options.controlSide)
  let gateway: Awaited<ReturnType<typeof serve>> | undefined
  try {
    if (options.agentPerMonth !== undefined) await control.api.limitAgents(options.agentPerMonth)
    await control.api.publish(options.upstream)
    const env = {
      ...gatewayEnv(control, dir, 'bench'),
      TOOLSETS: toolSets.path,
      WORKERS: String(options.workers),
      ...options.env,
    }
    const { nodeOptions = [], runner = [] } = options
    gateway = await serve(options.side, env, { nodeOptions, runner })
    const started = gateway
    return {
      ...gateway,
      url: gateway.gateway_url,
      control,
      token: await control.token('demo-admin'),
      async tokens(count) {
        const tokens: string[] = []
        while (tokens.length < count) tokens.push(await control.token('demo-admin'))
        return tokens
      },
      apiKey: await control.api.subscribe(gateway.gateway_url, 'bench', 'enterprise'),
      changeTools: () => toolSets.change(),
      async stop() {
        await started.stop()
        await control.stop()
        rmSync(dir, { recursive: true, force: true })
      },
    }
  } catch (error) {
    await gateway?.stop()
    await control.stop()
    rmSync(dir, { recursive: true, force: true })
    throw error
  }
}
