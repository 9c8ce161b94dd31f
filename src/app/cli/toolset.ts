/** `toolgate toolset lint|render`: prints findings about a ToolSet, ToolView or OpenAPI document, or the tools that it becomes. */
import type { Command } from 'commander'
import { writeJson } from '../../base/json/exact-number.ts'
import type { ObjectSchema } from '../../base/json/json-schema.ts'
import type { Inspection } from '../../catalog/inspect/inspect-file.ts'
import type { ViewReport } from '../../catalog/inspect/inspect-views.ts'
import type { Egress } from '../../net/egress/egress.ts'
import { readNodeEnv } from '../settings/node-env.ts'
import { Reader } from '../settings/reader.ts'
import { SettingsError } from '../settings.ts'
import { assignment, type CommandContext, CommandFailure, EXIT, footer, print } from './command.ts'
import { shownText } from './shown-text.ts'

const MAX_LINE_CHARS = 120

const FILES = `FILE is an OpenAPI document, or a YAML or JSON file with ToolSet or ToolView resources. The command reads each configMapRef from \
configmaps/NAME/KEY and each secretRef from secrets/NAME/KEY, both in the folder of FILE. It fetches OpenAPI documents from their URLs, and reads the \
tools of MCP servers: it connects only to public addresses, to the hosts and networks in the environment variable EGRESS_ALLOW, and, unless \
NODE_ENV=production, to loopback addresses.`

const DOES: Readonly<Record<string, string>> = {
  lint: 'Reports tools that agents may misread, operations that did not become tools, and selectors that match nothing. A ToolView is checked with the ToolSets in the folder of FILE.',
  render:
    'Prints the tools as clients see them, and lists operations that did not become tools. ToolViews in FILE are not applied.',
}

/** The placeholders that `serve` replaces. */
const PLACEHOLDERS = { GATEWAY_URL: 'http://localhost', EXAMPLE_URL: 'http://localhost' }

interface ToolsetOptions {
  readonly json?: true
  readonly apiGroup: string
  readonly set?: Readonly<Record<string, string>>
}

export function addToolset(program: Command, context: CommandContext): void {
  const toolset = program
    .command('toolset')
    .summary('check or print the tools that a ToolSet or an OpenAPI document becomes')
    .description(
      'Checks or prints the tools that a ToolSet or an OpenAPI document becomes. A ToolSet is a resource that names an OpenAPI document or an MCP server; a ToolView is a resource that selects tools (docs/reference/toolset.md and docs/reference/tool-views.md in the source repository).',
    )
  toolset
    .command('lint')
    .summary('report tools that agents may misread, and operations that did not become tools')
    .addHelpText(
      'after',
      footer(
        ['toolgate toolset lint openapi.yaml', 'toolgate toolset lint toolsets/shop.yaml --json'],
        '0 no findings, 1 findings or a file that cannot be used, 78 an invalid setting',
      ),
    )
    .action(async (file: string, options: ToolsetOptions) => {
      const inspected = await inspect(file, options, context.env)
      context.exitCode = await lint(inspected, options.json === true)
    })
  toolset
    .command('render')
    .summary('print the tools as clients see them')
    .addHelpText(
      'after',
      footer(
        [
          'toolgate toolset render openapi.yaml',
          'toolgate toolset render toolsets/shop.yaml --json --set EXAMPLE_URL=https://shop.example.com',
        ],
        '0 printed, 1 a file that cannot be used, 78 an invalid setting',
      ),
    )
    .action(async (file: string, options: ToolsetOptions) => {
      const { inspections } = await inspect(file, options, context.env)
      await render(inspections, options.json === true)
    })
  for (const command of toolset.commands)
    command
      .description(`${DOES[command.name()]} ${FILES}`)
      .argument('<file>', 'OpenAPI document, or file with ToolSet or ToolView resources')
      .option('--json', 'print JSON')
      .option('--api-group <name>', 'API group in the apiVersion of the resources', 'toolgate.dev')
      .option(
        '--set <name=value>',
        'value of a placeholder in FILE: the name is GATEWAY_URL or EXAMPLE_URL (default of both: http://localhost); may be repeated',
        assignment,
      )
}

interface Inspected {
  readonly inspections: readonly Inspection[]
  readonly views: readonly ViewReport[]
}

async function inspect(
  file: string,
  { apiGroup, set = {} }: ToolsetOptions,
  env: CommandContext['env'],
): Promise<Inspected> {
  const unknown = Object.keys(set).find(name => !Object.hasOwn(PLACEHOLDERS, name))
  if (unknown !== undefined)
    throw new CommandFailure(
      `--set ${unknown} names an unknown placeholder. Set GATEWAY_URL or EXAMPLE_URL.`,
      EXIT.usage,
    )
  const { InspectionError, inspectFile } = await import('../../catalog/inspect/inspect-file.ts')
  const { inspectViews } = await import('../../catalog/inspect/inspect-views.ts')
  const { reviewView } = await import('../../data-plane/listing/view-review.ts')
  const egress = await egressOf(env)
  const common = { apiGroup, variables: { ...PLACEHOLDERS, ...set }, egress }
  try {
    const inspections = await inspectFile(file, common)
    return { inspections, views: await inspectViews(file, { ...common, review: reviewView }) }
  } catch (error) {
    if (error instanceof InspectionError) throw new CommandFailure(error.message)
    throw error
  } finally {
    await egress.close()
  }
}

/** With the guard that `serve` has in this environment. @throws SettingsError with all faults */
async function egressOf(env: CommandContext['env']): Promise<Egress> {
  const { createEgress } = await import('../../net/egress/client.ts')
  const { findEgressFaults } = await import('../settings/files.ts')
  const read = new Reader(env)
  const allow = read.list('EGRESS_ALLOW', '')
  const allowLoopback = readNodeEnv(read) !== 'production'
  const faults = [...read.faults, ...(await findEgressFaults(allow))]
  if (faults.length > 0) throw new SettingsError(faults)
  return createEgress({ allow, allowLoopback, unixSockets: true })
}

/** JSON of one report is an object, of several resources in one file a list. */
async function lint({ inspections, views }: Inspected, json: boolean): Promise<number> {
  const { lintLines, lintToolSet } = await import('../../catalog/inspect/lint.ts')
  const { viewLines } = await import('../../catalog/inspect/inspect-views.ts')
  const ofToolSets = inspections.map(lintToolSet)
  const reports = [...ofToolSets, ...views]
  const shown = reports.length === 1 ? reports[0] : reports
  const lines = [...ofToolSets.flatMap(lintLines), ...views.flatMap(viewLines)]
  print(json ? `${JSON.stringify(shown, null, 2)}\n` : `${lines.map(shownText).join('\n')}\n`)
  return reports.some(({ findings }) => findings.length > 0) ? EXIT.failed : EXIT.ok
}

async function render(inspections: readonly Inspection[], json: boolean): Promise<void> {
  const { asServed } = await import('../../catalog/inspect/as-served.ts')
  const tools = inspections.flatMap(({ result }) => result.tools.map(asServed))
  const skipped = inspections.flatMap(({ result }) => result.skipped)
  if (json) return print(`${writeJson({ tools, skipped }, 2)}\n`)
  const lines = [
    ...tools.flatMap(tool => [
      tool.name,
      `  ${firstLine(tool.description)}`,
      ...argumentLines(tool.inputSchema),
    ]),
    ...skipped.map(({ operation, reason }) => `skipped ${operation}: ${reason}`),
    `tools: ${tools.length}, skipped operations: ${skipped.length}`,
  ]
  print(`${lines.map(shownText).join('\n')}\n`)
}

function argumentLines({ properties = {}, required = [] }: ObjectSchema): string[] {
  return Object.entries(properties).map(([name, schema]) => {
    const { type, description } = schema as { readonly type?: unknown; readonly description?: unknown }
    const shown = Array.isArray(type) ? type.join(' or ') : typeof type === 'string' ? type : 'any'
    const text = typeof description === 'string' ? `  ${firstLine(description)}` : ''
    return `    ${name}: ${shown}${required.includes(name) ? ', required' : ''}${text}`
  })
}

/** Shortened; --json prints the whole text. */
function firstLine(text: string): string {
  const [line = ''] = text.split('\n', 1)
  return line.length > MAX_LINE_CHARS ? `${line.slice(0, MAX_LINE_CHARS - 1)}…` : line
}
