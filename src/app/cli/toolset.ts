/** `toolgate toolset lint|render FILE`: prints the tools that a ToolSet or an OpenAPI document compiles to, and what agents may misread. It serves nothing. */
import type { Command } from 'commander'
import type { Inspection } from '../../catalog/inspect/inspect-file.ts'
import type { ObjectSchema } from '../../model/json-schema.ts'
import { assignment, type CommandContext, CommandFailure, EXIT, footer, print } from './command.ts'

const MAX_LINE_CHARS = 120

const FILES = `FILE is a ToolSet resource (YAML or JSON) or an OpenAPI document. A configMapRef or secretRef is read from the directories \
configmaps/ and secrets/ beside FILE; a document behind a url is not fetched: save it and pass the file.`

interface ToolsetOptions {
  readonly json?: true
  readonly apiGroup: string
  readonly set?: Readonly<Record<string, string>>
}

export function addToolset(program: Command, context: CommandContext): void {
  const toolset = program
    .command('toolset')
    .summary('lint or render a ToolSet or an OpenAPI document')
    .description('Shows what a ToolSet or an OpenAPI document compiles to.')
  toolset
    .command('lint')
    .summary('report what agents may misread, and the operations that did not become tools')
    .addHelpText(
      'after',
      footer(
        ['toolgate toolset lint openapi.yaml', 'toolgate toolset lint toolsets/shop.yaml --json'],
        '0 no findings, 1 findings, or the file cannot be used',
      ),
    )
    .action(async (file: string, options: ToolsetOptions) => {
      context.exitCode = await lint(await inspect(file, options), options.json === true)
    })
  toolset
    .command('render')
    .summary('print the tools as clients see them')
    .addHelpText(
      'after',
      footer(
        [
          'toolgate toolset render openapi.yaml',
          'toolgate toolset render toolsets/shop.yaml --json --set SHOP_URL=https://shop.example.com',
        ],
        '0 rendered, 1 the file cannot be used',
      ),
    )
    .action(async (file: string, options: ToolsetOptions) => {
      await render(await inspect(file, options), options.json === true)
    })
  for (const command of toolset.commands)
    command
      .description(FILES)
      .argument('<file>', 'ToolSet resource or OpenAPI document')
      .option('--json', 'print JSON')
      .option('--api-group <name>', 'API group of the resources', 'toolgate.dev')
      .option('--set <name=value>', 'value of the placeholder NAME; may be repeated', assignment)
}

async function inspect(file: string, options: ToolsetOptions): Promise<Inspection> {
  const { InspectionError, inspectFile } = await import('../../catalog/inspect/inspect-file.ts')
  try {
    return await inspectFile(file, { apiGroup: options.apiGroup, variables: options.set ?? {} })
  } catch (error) {
    if (error instanceof InspectionError) throw new CommandFailure(error.message)
    throw error
  }
}

async function lint(inspection: Inspection, json: boolean): Promise<number> {
  const { lintLines, lintToolSet } = await import('../../catalog/inspect/lint.ts')
  const report = lintToolSet(inspection)
  print(json ? `${JSON.stringify(report, null, 2)}\n` : `${lintLines(report).join('\n')}\n`)
  return report.findings.length > 0 ? EXIT.failed : EXIT.ok
}

async function render({ result }: Inspection, json: boolean): Promise<void> {
  const { asServed } = await import('../../catalog/inspect/as-served.ts')
  const tools = result.tools.map(asServed)
  if (json) return print(`${JSON.stringify({ tools, skipped: result.skipped }, null, 2)}\n`)
  const lines = [
    ...tools.flatMap(tool => [
      tool.name,
      `  ${firstLine(tool.description)}`,
      ...argumentLines(tool.inputSchema),
    ]),
    ...result.skipped.map(({ operation, reason }) => `skipped ${operation}: ${reason}`),
    `${tools.length} tools, ${result.skipped.length} operations skipped`,
  ]
  print(`${lines.join('\n')}\n`)
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
