/** Prepares a tool, resource or prompt for calls: its checks, its HTTP request, its MCP target and what its document serves. */

import { passOn } from '../../base/and-then.ts'
import { isObject } from '../../base/json/is-object.ts'
import type { ArgumentChecker } from '../../base/json-schema/argument-check.ts'
import type { ArgumentFault, CheckOutcome } from '../../base/json-schema/argument-fault.ts'
import { measureUpTo } from '../../base/json-schema/validate.ts'
import type { RequestTemplate, Tool } from '../../model/tool.ts'
import type { PreparedTool } from '../snapshot/tool-index.ts'
import { climbs } from './path.ts'
import { isDocumentFeature, prepareFeature } from './prepare-feature.ts'
import { prepareMcp } from './prepare-mcp.ts'
import { prepareRequest } from './prepare-request.ts'

type Args = { readonly [name: string]: unknown }

/** The parts of a CompiledTool. The check covers what no schema says, such as dot segments in paths, sizes, and text that is not base64. */
export function prepareTool(tool: Tool, checker: Pick<ArgumentChecker, 'prepare'>): PreparedTool {
  const owner = tool.tenant ?? `${tool.namespace}/${tool.toolSet}`
  const checkRequest = requestCheck(tool.request)
  if (isDocumentFeature(tool)) return prepareFeature(tool, checker, owner, checkRequest)
  const checkSchema = checker.prepare(tool.inputSchema, owner)
  const { build, buildInSteps } = prepareRequest(tool.request, tool.authentication)
  const { fixed } = tool.request
  const whole = (args: Args): Args => (fixed === undefined ? args : { ...args, ...fixed })
  const checkBoth = (args: Args, ofSchema: CheckOutcome): CheckOutcome =>
    checkRequest === undefined || typeof ofSchema === 'string' || ofSchema.length > 0
      ? ofSchema
      : checkRequest(whole(args))
  return {
    validate(args) {
      const checked = checkSchema(args)
      return checkRequest === undefined ? checked : passOn(checkBoth, args as Args, checked)
    },
    validateOutput: tool.outputSchema === undefined ? undefined : checker.prepare(tool.outputSchema, owner),
    buildRequest: fixed === undefined ? build : args => build(whole(args)),
    buildInSteps: args => buildInSteps(whole(args)),
    mcp: prepareMcp(tool),
  }
}

/** Characters: common servers refuse a request line or header field that is longer. */
const MAX_PARAMETER_CHARS = 64 * 1024
const MAX_PARAMETER_VALUES = 10_000
/** Each is a part with its own head. */
const MAX_PARTS = 10_000

type Check = (args: Args, faults: ArgumentFault[]) => void

/** undefined: the schema says it all. */
function requestCheck(template: RequestTemplate): ((args: Args) => readonly ArgumentFault[]) | undefined {
  const checks: Check[] = []
  for (const { argument, in: place } of template.parameters) {
    checks.push((args, faults) => checkSize(argument, args[argument], faults))
    if (place === 'path') checks.push((args, faults) => checkPath(argument, args[argument], faults))
  }
  if (template.body?.contentType.startsWith('multipart/') === true)
    checks.push((args, faults) => checkParts(args, faults))
  for (const argument of binaryArguments(template)) {
    checks.push((args, faults) => checkBase64(argument, args[argument], faults))
  }
  const from = template.body?.from
  if (from?.kind === 'fields' && from.minFields !== undefined) {
    const names = from.fields.map(field => field.argument)
    const { minFields } = from
    checks.push((args, faults) => checkCount(names, minFields, args, faults))
  }
  if (checks.length === 0) return undefined
  return args => {
    const faults: ArgumentFault[] = []
    for (const check of checks) check(args, faults)
    return faults
  }
}

function checkSize(argument: string, value: unknown, faults: ArgumentFault[]): void {
  if (charsOf(value) > MAX_PARAMETER_CHARS)
    faults.push({
      path: `/${argument}`,
      message: `must not have more than ${MAX_PARAMETER_VALUES} values or ${MAX_PARAMETER_CHARS} characters: it is sent outside the body`,
    })
}

function charsOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 0
  const size = measureUpTo(value, MAX_PARAMETER_VALUES)
  return typeof size === 'object' ? size.chars : Number.POSITIVE_INFINITY
}

function checkParts(args: Args, faults: ArgumentFault[]): void {
  for (const [argument, value] of Object.entries(args))
    if (Array.isArray(value) && value.length > MAX_PARTS)
      faults.push({
        path: `/${argument}`,
        message: `must not have more than ${MAX_PARTS} items: each item is a part of the body`,
      })
}

function checkPath(argument: string, value: unknown, faults: ArgumentFault[]): void {
  const parts = isObject(value) || Array.isArray(value) ? Object.values(value) : undefined
  if (value === '' || parts?.length === 0) {
    faults.push({ path: `/${argument}`, message: 'must not be empty: it is part of the URL path' })
  } else if (parts === undefined ? isClimbing(value) : parts.some(isClimbing)) {
    faults.push({
      path: `/${argument}`,
      message: 'must not contain "." or ".." as a path segment: it is part of the URL path',
    })
  }
}

function isClimbing(part: unknown): boolean {
  return typeof part === 'string' && climbs(part)
}

function checkCount(names: readonly string[], atLeast: number, args: Args, faults: ArgumentFault[]): void {
  if (names.filter(name => args[name] !== undefined).length >= atLeast) return
  faults.push({ path: '', message: `must contain at least ${atLeast} of ${names.slice(0, 20).join(', ')}` })
}

/** Arguments that are base64 of bytes. */
function binaryArguments(template: RequestTemplate): string[] {
  const body = template.body
  if (body === undefined) return []
  if (body.from.kind === 'whole') return body.binary === true ? [body.from.argument] : []
  return body.from.fields
    .filter(field => body.encoding?.[field.name]?.binary === true)
    .map(field => field.argument)
}

function checkBase64(argument: string, value: unknown, faults: ArgumentFault[]): void {
  for (const item of Array.isArray(value) ? value : [value]) {
    if (typeof item === 'string' && !/^[A-Za-z0-9+/_-]*={0,2}$/.test(item)) {
      faults.push({ path: `/${argument}`, message: 'must be base64' })
      return
    }
  }
}
