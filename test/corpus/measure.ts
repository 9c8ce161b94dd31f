/** What one document of the corpus becomes, and whether every claim about its tools holds. No result depends on an earlier document. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import ajvFormats from 'ajv-formats'
import { unfoldSchema } from '../../src/base/json/unfold-schema.ts'
import { compileValidator } from '../../src/base/json-schema/validate.ts'
import type { CompileOutcome } from '../../src/catalog/sync/compile-job.ts'
import type { Tool } from '../../src/model/tool.ts'
import { DEFAULT_NAMING, DEFAULT_TOOL_DEFAULTS, type ToolSet } from '../../src/model/tool-set.ts'
import { preparedTool } from '../fixtures/prepared-tool.ts'
import { DocumentCheck } from './check-request.ts'
import { ArgumentGenerator } from './generate-arguments.ts'

/** A document that names no absolute server gets this one, as a deployment would give one with spec.baseURL. */
export const STAND_IN = 'http://backend.test'

export function corpusToolSet(): ToolSet {
  return {
    name: 'corpus',
    namespace: 'platform',
    displayName: 'Corpus',
    selector: {},
    toolDefaults: DEFAULT_TOOL_DEFAULTS,
    naming: DEFAULT_NAMING,
    enabled: true,
  }
}

/** Faults of tools; empty when every claim holds. */
export function faultsOf(tools: readonly Tool[]): string[] {
  const faults: string[] = []
  const names = new Set(tools.map(tool => tool.name))
  if (names.size !== tools.length) faults.push(`${tools.length - names.size} names are not unique`)
  for (const tool of tools) {
    if (!/^[A-Za-z0-9_.-]{1,64}$/.test(tool.name)) faults.push(`${tool.name} is not a valid name`)
    if (tool.description.trim() === '') faults.push(`${tool.name} has no description`)
    if (tool.inputSchema.type !== 'object')
      faults.push(`${tool.name} has an inputSchema that is not an object`)
    const badArgument = Object.keys(tool.inputSchema.properties ?? {}).find(
      name => !/^[A-Za-z0-9_.-]{1,64}$/.test(name),
    )
    if (badArgument !== undefined) faults.push(`${tool.name} has an argument ${badArgument}`)
    if (JSON.stringify(tool.inputSchema).includes('"x-mcp-header"'))
      faults.push(`${tool.name} carries a vendor key`)
  }
  return faults
}

/** Tools whose inputSchema is not JSON Schema 2020-12 that Ajv compiles, with the reason. */
export function uncompilable(tools: readonly Tool[]): string[] {
  const faults: string[] = []
  let ajv = freshAjv()
  tools.forEach((tool, i) => {
    // Ajv's cache of metadata grows: a new instance now and then bounds it.
    if (i % 50 === 49) ajv = freshAjv()
    try {
      ajv.compile(tool.inputSchema)
      ajv.removeSchema(tool.inputSchema)
      if (tool.inputSchema.$defs !== undefined) checkUnfolded(ajv, tool.inputSchema)
    } catch (error) {
      faults.push(`${tool.name}: ${String((error as Error).message).slice(0, 160)}`)
    }
  })
  return faults
}

/** As clients see it that follow no references. */
function checkUnfolded(ajv: Ajv2020, schema: Tool['inputSchema']): void {
  const unfolded = unfoldSchema(schema)
  if (JSON.stringify(unfolded).includes('"$ref":"#'))
    throw new Error('unfolded, it still refers to something')
  ajv.compile(unfolded)
  ajv.removeSchema(unfolded)
}

function freshAjv(): Ajv2020 {
  const ajv = new Ajv2020({ strict: false, logger: false, validateSchema: true, addUsedSchema: false })
  ;(ajvFormats as unknown as (ajv: Ajv2020) => void)(ajv)
  return ajv
}

export interface RoundTrips {
  readonly tried: number
  readonly valid: number
  /** No arguments were found that fit the inputSchema. */
  readonly ungenerated: number
  /** The check by the original document threw, as for a schema that cannot be compiled, so nothing can be said. */
  readonly unjudged: number
  readonly reasons: readonly string[]
}

/** Arguments → request → judged by the original document, for every n-th tool. */
export function roundTrips(document: unknown, tools: readonly Tool[], every: number): RoundTrips {
  const judge = new DocumentCheck(document as { readonly [key: string]: unknown })
  const count = { tried: 0, valid: 0, ungenerated: 0, unjudged: 0 }
  const reasons: string[] = []
  for (let i = 0; i < tools.length; i += every) {
    const tool = tools[i]!
    const { validate, buildRequest } = preparedTool(tool)
    const args = generate(tool, validate)
    count.tried++
    if (args === undefined) {
      count.ungenerated++
      reasons.push(`${tool.operation}: no arguments found: ${JSON.stringify(lastFault)}`)
      continue
    }
    // What the schema allows, the one for older clients has to allow too.
    const unfolded =
      tool.inputSchema.$defs === undefined ? [] : compileValidator(unfoldSchema(tool.inputSchema))(args)
    if (unfolded.length > 0) {
      reasons.push(`${tool.operation}: invalid: unfolded ${JSON.stringify(unfolded[0])}`)
      continue
    }
    const { method, path, baseUrl } = originOf(tool, document)
    const verdict = judge.judge(method, path, baseUrl, buildRequest(args))
    if (verdict.kind === 'valid') count.valid++
    else {
      if (verdict.kind === 'unjudged') count.unjudged++
      reasons.push(`${tool.operation}: ${verdict.kind}: ${verdict.reason}`)
    }
  }
  return { ...count, reasons }
}

let lastFault: unknown

function generate(
  tool: Tool,
  validate: (args: unknown) => readonly unknown[],
): Record<string, unknown> | undefined {
  for (let seed = 1; seed <= 8; seed++) {
    const args = new ArgumentGenerator(tool.inputSchema, seed).generate()
    const faults = validate(args)
    if (faults.length === 0) return args as Record<string, unknown>
    lastFault = faults[0]
  }
  return undefined
}

/** The path as the document has it: templates are cut at `?` and `#`. */
function originOf(tool: Tool, document: unknown): { method: string; path: string; baseUrl: string } {
  const { method, baseUrl } = tool.request
  const paths = (document as { paths: Record<string, Record<string, { operationId?: string }>> }).paths
  for (const path of Object.keys(paths)) {
    const operation = paths[path]?.[method.toLowerCase()]
    if (operation === undefined || path.split(/[?#]/, 1)[0] !== tool.request.path) continue
    if (
      operation.operationId === undefined
        ? tool.operation === `${method} ${path}`
        : tool.operation === operation.operationId
    ) {
      return { method, path, baseUrl }
    }
  }
  return { method, path: tool.request.path, baseUrl }
}

export function toolsOf(outcome: CompileOutcome): readonly Tool[] {
  return outcome.kind === 'compiled' ? outcome.result.tools : []
}
