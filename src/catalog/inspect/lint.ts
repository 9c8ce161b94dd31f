/** Finds problems of a tool set and its tools, with a fix for each, and formats the report. */
import { isObject } from '../../base/json/is-object.ts'
import type { Tool } from '../../model/tool.ts'
import { CLIENT_NAME_LENGTH } from '../compile/names.ts'
import type { Inspection } from './inspect-file.ts'

interface LintFinding {
  readonly rule: string
  /** Tool, operation or place of a reference; '' for the tool set as a whole. */
  readonly subject: string
  readonly message: string
  readonly fix: string
}

interface LintReport {
  readonly toolSet: string
  readonly operations: number
  readonly tools: number
  /** Share of the selected operations that became tools, 0 to 1. */
  readonly share: number
  readonly findings: readonly LintFinding[]
  /** Deviations from the document that are not faults. */
  readonly notices: readonly { readonly operation: string | undefined; readonly message: string }[]
}

/** With more tools, agents choose worse, and many clients truncate the list. */
const MANY_TOOLS = 60
/** Characters of JSON; about 2,500 tokens. */
const HUGE_SCHEMA_CHARS = 10_000
const SHORT_DESCRIPTION = 20
const MANY_ARGUMENTS = 30

export function lintToolSet({ toolSet, result }: Inspection): LintReport {
  const findings: LintFinding[] = []
  for (const { operation, reason } of result.skipped) {
    findings.push({
      rule: 'skipped-operation',
      subject: operation,
      message: reason,
      fix: 'correct the document, or exclude the operation with spec.selector',
    })
  }
  for (const { pointer, reference, reason, fix } of result.unresolved)
    findings.push({
      rule: 'unresolved-reference',
      subject: pointer,
      message: `$ref ${reference}: ${reason}`,
      fix,
    })
  if (result.moreUnresolved > 0) {
    const message = `unresolved references that are not listed here: ${result.moreUnresolved}`
    findings.push({
      rule: 'unresolved-reference',
      subject: '',
      message,
      fix: 'correct the references above first',
    })
  }
  for (const entry of result.unmatched) {
    const message = `spec.${entry} matches nothing`
    findings.push({ rule: 'unmatched-selector', subject: '', message, fix: 'correct or remove the entry' })
  }
  if (result.withoutCredential.length > 0) {
    const schemes = [...new Set(result.withoutCredential.flatMap(entry => entry.schemes))]
    const count = result.withoutCredential.length
    const message = `operations that need a credential: ${count} (security schemes: ${schemes.join(', ')})`
    const fix = 'set spec.toolDefaults.authentication'
    findings.push({ rule: 'missing-credential', subject: '', message, fix })
  }
  for (const message of result.suspicious ?? []) {
    const fix =
      'read the definition as an instruction to models; hide the tool or replace its description with spec.overrides'
    findings.push({ rule: 'suspicious-text', subject: '', message, fix })
  }
  const unhinted = result.tools.filter(
    ({ mcp, annotations, destructive }) =>
      mcp !== undefined && destructive === true && annotations.destructiveHint === undefined,
  )
  if (unhinted.length > 0) {
    const message = `tools that the gateway treats as destructive, because the MCP server does not mark them as read-only: ${unhinted.length}`
    const fix = 'configure the MCP server to send annotations, or create a Tool resource with annotations'
    findings.push({ rule: 'missing-annotations', subject: '', message, fix })
  }
  if (result.tools.length > MANY_TOOLS && toolSet.listing !== 'search') {
    const message = `${result.tools.length} tools are too many for agents to choose from reliably`
    findings.push({
      rule: 'many-tools',
      subject: '',
      message,
      fix: 'set spec.listing to search, narrow spec.selector, or split the tool set',
    })
  }
  for (const tool of result.tools) findings.push(...lintTool(tool))
  const operations = result.selected
  return {
    toolSet: toolSet.name,
    operations,
    tools: result.tools.length,
    share: operations === 0 ? 1 : result.tools.length / operations,
    findings,
    notices: result.notices,
  }
}

/** What agents may misread of one tool. */
export function* lintTool(tool: Tool): Generator<LintFinding> {
  const subject = tool.name
  const { description, request, inputSchema } = tool
  if (description === `${request.method} ${tool.operation}` || isGenerated(tool)) {
    const fix = 'write a summary or a description of the operation'
    const message = 'the operation has neither a summary nor a description'
    yield { rule: 'missing-description', subject, message, fix }
  } else if (description.length < SHORT_DESCRIPTION) {
    const fix = 'describe what the operation does and when to use it'
    const message = `the description "${description}" is too short for an agent`
    yield { rule: 'short-description', subject, message, fix }
  }
  if (subject.length > CLIENT_NAME_LENGTH) {
    const fix = `set spec.naming.maxLength to ${CLIENT_NAME_LENGTH}, or shorten operationId or spec.naming.prefix`
    const message = `the tool name has ${subject.length} characters; clients add the server name and allow 60 to 64 characters in total`
    yield { rule: 'long-name', subject, message, fix }
  }
  const chars = JSON.stringify(inputSchema).length
  if (chars > HUGE_SCHEMA_CHARS) {
    const message = `the input schema has ${chars} characters; at most ${HUGE_SCHEMA_CHARS} are recommended`
    yield {
      rule: 'huge-schema',
      subject,
      message,
      fix: 'exclude the operation with spec.selector, or shorten the schema of its request body',
    }
  }
  const properties = Object.entries(inputSchema.properties ?? {})
  if (properties.length > MANY_ARGUMENTS) {
    const message = `the tool has ${properties.length} arguments; at most ${MANY_ARGUMENTS} are recommended`
    const fix = 'hide optional arguments with spec.overrides, or split the operation'
    yield { rule: 'many-arguments', subject, message, fix }
  }
  const bare = properties.filter(([, schema]) => !isDescribed(schema)).map(([name]) => name)
  if (bare.length > 0) {
    const message = `arguments without a description: ${bare.slice(0, 8).join(', ')}${bare.length > 8 ? ' …' : ''}`
    yield {
      rule: 'missing-argument-description',
      subject,
      message,
      fix: 'add a description to each of these arguments in the document',
    }
  }
}

/** True for the description that the compiler generates when the document has none: method, path and title of the document in one line. */
function isGenerated({ title, description, request: { method, path } }: Tool): boolean {
  const said = description.replace(/^Deprecated\. /, '')
  return title === undefined && said.startsWith(`${method} ${path} of `) && !said.includes('\n')
}

function isDescribed(schema: unknown): boolean {
  return (
    isObject(schema) &&
    ['description', 'title', 'enum', 'const', '$ref'].some(key => schema[key] !== undefined)
  )
}

/** The report as text lines. */
export function lintLines(report: LintReport): string[] {
  const lines = report.findings.map(({ rule, subject, message, fix }) => {
    return `${subject === '' ? report.toolSet : subject}: ${message} [${rule}] → ${fix}`
  })
  for (const { operation, message } of report.notices)
    lines.push(`${operation ?? report.toolSet}: note: ${message}`)
  const share = (report.share * 100).toFixed(1)
  lines.push(
    `operations: ${report.operations}, tools: ${report.tools} (${share} %), findings: ${report.findings.length}`,
  )
  return lines
}
