/** Recognizes and prepares the resources and prompts that documents describe: their checks, requests, messages and completions. */

import { andThen } from '../../base/and-then.ts'
import { readJson } from '../../base/json/exact-number.ts'
import { isObject } from '../../base/json/is-object.ts'
import type { ObjectSchema } from '../../base/json/json-schema.ts'
import type { ArgumentChecker } from '../../base/json-schema/argument-check.ts'
import type { ArgumentFault } from '../../base/json-schema/argument-fault.ts'
import { readUriTemplate, type UriTemplate } from '../../base/uri-template.ts'
import type { DocumentFeature, Feature, Tool } from '../../model/tool.ts'
import type { PreparedTool } from '../snapshot/tool-index.ts'
import { prepareRequest } from './prepare-request.ts'

type Args = { readonly [name: string]: unknown }
type FeatureTool = Tool & { readonly feature: Feature & { readonly document: DocumentFeature } }

/** MCP, completion: at most so many values. */
const MAX_VALUES = 100
const MAX_PROMPT_CHARS = 1_000_000
const PLACEHOLDER = /\{\{\s*([^\s{}]{1,64})\s*\}\}/g
const NUMBER = /^-?(?:0|[1-9]\d{0,30})(?:\.\d{1,30})?$/
const NOT_OF_TEMPLATE = [{ path: '/uri', message: 'does not match the URI template' }]

/** What no schema says of the arguments of a request. */
type RequestCheck = (args: Args) => readonly ArgumentFault[]

export function isDocumentFeature(tool: Tool): tool is FeatureTool {
  return tool.feature?.document !== undefined
}

export function prepareFeature(
  tool: FeatureTool,
  checker: Pick<ArgumentChecker, 'prepare'>,
  owner: string,
  checkRequest: RequestCheck | undefined,
): PreparedTool {
  const { feature, inputSchema } = tool
  const { messages, completions } = feature.document
  const checkInput = checker.prepare(inputSchema, owner)
  const common = { validateOutput: undefined, mcp: undefined }
  const complete = (params: Args) => findCompletions(completions, params)
  const { build, buildInSteps } = prepareRequest(tool.request, tool.authentication)
  if (messages !== undefined) {
    const { description } = feature.listed
    const render = (args: Args) => ({
      ...(description === undefined ? undefined : { description }),
      messages: messages.map(({ role, text }) => ({
        role,
        content: { type: 'text', text: fillTemplate(text, args) },
      })),
    })
    return {
      ...common,
      validate: checkInput,
      buildRequest: build,
      buildInSteps,
      document: { complete, render },
    }
  }
  const { arguments: schema = { type: 'object' } } = feature.document
  const argumentsOf = uriReader(feature, schema)
  const checkArguments = checker.prepare(schema, owner)
  return {
    ...common,
    validate: args =>
      andThen(checkInput(args), outcome => {
        if (typeof outcome === 'string' || outcome.length > 0) return outcome
        const read = argumentsOf(args as Args)
        if (read === undefined) return NOT_OF_TEMPLATE
        return andThen(checkArguments(read), checked =>
          typeof checked === 'string' || checked.length > 0 ? checked : (checkRequest?.(read) ?? []),
        )
      }),
    buildRequest: args => build(argumentsOf(args) ?? {}),
    buildInSteps: args => buildInSteps(argumentsOf(args) ?? {}),
    document: { complete, render: undefined },
  }
}

/** @returns undefined for a URI that is not one of the resource */
function uriReader(
  { kind, id, document }: FeatureTool['feature'],
  schema: ObjectSchema,
): (args: Args) => Args | undefined {
  if (kind === 'resource') return ({ uri }) => (uri === id ? {} : undefined)
  const template: UriTemplate | undefined = readUriTemplate(id)
  const variables = document.variables ?? {}
  return ({ uri }) => {
    const values = template?.match(String(uri))
    if (values === undefined) return undefined
    const given = Object.entries(values).map(([name, value]) => {
      const argument = variables[name] ?? name
      return [argument, argumentValue(value, schema, argument)] as const
    })
    return Object.fromEntries(given)
  }
}

/** For a text in a URI, as the schema of the argument wants it. */
function argumentValue(text: string, { properties = {}, $defs }: ObjectSchema, argument: string): unknown {
  const given = properties[argument]
  const name = isObject(given) ? /^#\/\$defs\/([^/]+)$/.exec(String(given.$ref))?.[1] : undefined
  const schema = name === undefined || !isObject($defs) ? given : $defs[name]
  const type = isObject(schema) ? schema.type : undefined
  const types = Array.isArray(type) ? type : [type]
  if (types.includes('string')) return text
  if ((types.includes('integer') || types.includes('number')) && NUMBER.test(text)) return readJson(text)
  if (types.includes('boolean') && (text === 'true' || text === 'false')) return text === 'true'
  return text
}

/** An argument that is not given is empty. The text of an argument is not searched for placeholders. */
function fillTemplate(text: string, args: Args): string {
  let length = 0
  return text.replaceAll(PLACEHOLDER, (_, name: string) => {
    const value = Object.hasOwn(args, name) ? String(args[name]) : ''
    length += value.length
    return length > MAX_PROMPT_CHARS ? '' : value
  })
}

function findCompletions(completions: DocumentFeature['completions'], { argument }: Args): Args {
  const { name, value } = isObject(argument) ? argument : {}
  const known = typeof name === 'string' && Object.hasOwn(completions, name) ? completions[name]! : []
  const begun = String(value ?? '').toLowerCase()
  const values = known.filter(each => each.toLowerCase().startsWith(begun))
  return {
    completion: {
      values: values.slice(0, MAX_VALUES),
      total: values.length,
      hasMore: values.length > MAX_VALUES,
    },
  }
}
