/** `toolgate toolset lint|render FILE`: shows what a ToolSet or an OpenAPI document becomes, and what agents would stumble over. It serves nothing. */
import { parseArgs } from 'node:util'
import { asServed } from '../../catalog/inspect/as-served.ts'
import { InspectionError, inspectFile } from '../../catalog/inspect/inspect-file.ts'
import { lintLines, lintToolSet } from '../../catalog/inspect/lint.ts'
import type { ObjectSchema } from '../../model/json-schema.ts'

const EXIT_FOUND = 1
const EXIT_USAGE = 64
const MAX_LINE_CHARS = 120

const HELP = `Usage: toolgate toolset COMMAND FILE [options]

Commands:
  lint FILE      what could be better for agents, and which operations did not become tools
  render FILE    the tools as clients see them

FILE is a ToolSet resource (YAML or JSON) or a bare OpenAPI document. configMapRef and secretRef are read from the
folders configmaps/ and secrets/ beside FILE; a document behind a url is not fetched: save it and give the file.

Options:
  --json             machine-readable output
  --api-group NAME   group of the resources, default toolgate.dev
  --set NAME=VALUE   value of a \${NAME} placeholder; may be repeated
  -h, --help         this text

Exit codes: 0 done, 1 lint found something or the file is not usable, 64 usage.
`

const OPTIONS = {
  json: { type: 'boolean' },
  'api-group': { type: 'string' },
  set: { type: 'string', multiple: true },
  help: { type: 'boolean', short: 'h' },
} as const

/** Resolves to the exit code; everything is printed. */
export async function toolset(args: string[]): Promise<number> {
  let parsed: ReturnType<typeof parse>
  try {
    parsed = parse(args)
  } catch (error) {
    return usage((error as Error).message)
  }
  const { values, positionals } = parsed
  // Whoever reads (`| head`) may have seen enough.
  process.stdout.on('error', error => {
    if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error
    process.exit(0)
  })
  if (values.help === true) {
    process.stdout.write(HELP)
    return 0
  }
  const [command, file, ...more] = positionals
  if (command !== 'lint' && command !== 'render') {
    return usage(command === undefined ? 'a command is missing' : `there is no command "${command}"`)
  }
  if (file === undefined || more.length > 0) return usage('give exactly one FILE')
  const variables = variablesFrom(values.set ?? [])
  if (variables === undefined) return usage('--set wants NAME=VALUE')
  try {
    const inspected = await inspectFile(file, { apiGroup: values['api-group'] ?? 'toolgate.dev', variables })
    return command === 'lint'
      ? lint(inspected, values.json === true)
      : render(inspected, values.json === true)
  } catch (error) {
    if (!(error instanceof InspectionError)) throw error
    process.stderr.write(`toolgate toolset: ${error.message}\n`)
    return EXIT_FOUND
  }
}

type Inspected = Awaited<ReturnType<typeof inspectFile>>

function lint(inspected: Inspected, json: boolean): number {
  const report = lintToolSet(inspected)
  process.stdout.write(json ? `${JSON.stringify(report, null, 2)}\n` : `${lintLines(report).join('\n')}\n`)
  return report.findings.length > 0 ? EXIT_FOUND : 0
}

function render({ result }: Inspected, json: boolean): number {
  const tools = result.tools.map(asServed)
  if (json) {
    process.stdout.write(`${JSON.stringify({ tools, skipped: result.skipped }, null, 2)}\n`)
    return 0
  }
  for (const tool of tools) {
    print(`${tool.name}`, `  ${firstLine(tool.description)}`, ...argumentLines(tool.inputSchema))
  }
  for (const { operation, reason } of result.skipped) print(`skipped ${operation}: ${reason}`)
  print(`${tools.length} tools, ${result.skipped.length} operations skipped`)
  return 0
}

function argumentLines({ properties = {}, required = [] }: ObjectSchema): string[] {
  return Object.entries(properties).map(([name, schema]) => {
    const { type, description } = schema as { readonly type?: unknown; readonly description?: unknown }
    const shown = Array.isArray(type) ? type.join(' or ') : typeof type === 'string' ? type : 'any'
    const said = typeof description === 'string' ? `  ${firstLine(description)}` : ''
    return `    ${name}: ${shown}${required.includes(name) ? ', required' : ''}${said}`
  })
}

/** Enough to recognize it by; the whole text is in the JSON. */
function firstLine(text: string): string {
  const [line = ''] = text.split('\n', 1)
  return line.length > MAX_LINE_CHARS ? `${line.slice(0, MAX_LINE_CHARS - 1)}…` : line
}

function print(...lines: readonly string[]): void {
  process.stdout.write(`${lines.join('\n')}\n`)
}

function parse(args: string[]) {
  return parseArgs({ args, options: OPTIONS, allowPositionals: true })
}

function usage(message: string): number {
  process.stderr.write(`toolgate toolset: ${message}\n\n${HELP}`)
  return EXIT_USAGE
}

function variablesFrom(pairs: readonly string[]): { readonly [name: string]: string } | undefined {
  const entries = pairs.map(pair => {
    const at = pair.indexOf('=')
    return at > 0 ? ([pair.slice(0, at), pair.slice(at + 1)] as const) : undefined
  })
  return entries.some(entry => entry === undefined)
    ? undefined
    : Object.fromEntries(entries as [string, string][])
}
