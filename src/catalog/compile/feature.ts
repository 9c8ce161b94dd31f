/** Compiles resources, resource templates and prompts of MCP servers and documents; names their lists, and builds the prefix of URIs. */
import { isObject } from '../../base/json/is-object.ts'
import type { ObjectSchema } from '../../base/json/json-schema.ts'
import { MAX_URI_LENGTH, readUriTemplate } from '../../base/uri-template.ts'
import type { Feature, Tool } from '../../model/tool.ts'
import { type Dict, list, own, text } from './dict.ts'
import { SkippedOperation } from './skipped.ts'
import { cleanText, MAX_FIELD_DESCRIPTION, MAX_TITLE, MAX_TOOL_DESCRIPTION } from './words.ts'

/** The lists beside that of tools, as the document of a server holds them. */
export const FEATURE_LISTS = {
  resources: { kind: 'resource', id: 'uri' },
  resourceTemplates: { kind: 'template', id: 'uriTemplate' },
  prompts: { kind: 'prompt', id: 'name' },
} as const

const MAX_ARGUMENTS = 100
const ARGUMENT_NAME = /^(?!__proto__$)[^\s:\p{C}]{1,64}$/u
/** RFC 3986, "Scheme"; templates may begin with an expression. */
const WITH_SCHEME = /^(?:[A-Za-z][A-Za-z0-9+.-]*:|\{)/
const MAX_ICONS = 8

/** The part of a tool that a feature decides about. */
export type CompiledFeature = Pick<Tool, 'title' | 'description' | 'inputSchema' | 'annotations'> & {
  readonly feature: Feature
}

/** In front of URIs: a scheme made of the prefix for names, so that two servers can have one URI. */
export function uriPrefixOf(namePrefix: string): string {
  const scheme = namePrefix
    .toLowerCase()
    .replace(/[^a-z0-9.-]+/g, '-')
    .replace(/^[^a-z]+|[-.]+$/g, '')
  return scheme === '' ? '' : `${scheme}+`
}

/**
 * @param id as clients see it
 * @throws SkippedOperation
 */
export function compileFeature(kind: Feature['kind'], id: string, given: Dict): CompiledFeature {
  const title = cleanText(own(given, 'title'), MAX_TITLE)
  const description = cleanText(own(given, 'description'), MAX_TOOL_DESCRIPTION)
  const name = cleanText(own(given, 'name'), MAX_TITLE)
  if (kind === 'template' && readUriTemplate(id) === undefined)
    throw new SkippedOperation('the URI template is not valid or not supported')
  if (kind !== 'prompt' && (id.length > MAX_URI_LENGTH || !WITH_SCHEME.test(id)))
    throw new SkippedOperation(`the URI has no scheme, or has more than ${MAX_URI_LENGTH} characters`)
  const parameters = kind === 'prompt' ? argumentsOf(own(given, 'arguments')) : []
  return {
    ...(title === '' ? {} : { title }),
    description: description || title || name || id,
    inputSchema: kind === 'prompt' ? promptSchema(parameters) : URI_SCHEMA,
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true },
    feature: {
      kind,
      id,
      listed: {
        ...(kind === 'prompt' ? {} : { name: name || id.slice(0, MAX_TITLE) }),
        ...(title === '' ? {} : { title }),
        ...(description === '' ? {} : { description }),
        ...(parameters.length === 0 ? {} : { arguments: parameters }),
        ...(kind === 'prompt' ? {} : contentOf(given)),
        ...iconsOf(own(given, 'icons')),
      },
    },
  }
}

const URI_SCHEMA: ObjectSchema = Object.freeze({
  type: 'object',
  properties: { uri: { type: 'string', maxLength: MAX_URI_LENGTH } },
  required: ['uri'],
  additionalProperties: false,
})

interface PromptArgument {
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly required?: boolean
}

function argumentsOf(given: unknown): readonly PromptArgument[] {
  const all = list(given)
  if (all.length > MAX_ARGUMENTS)
    throw new SkippedOperation(`the prompt has more than ${MAX_ARGUMENTS} arguments`)
  return all.map(argument => {
    const name = isObject(argument) ? text(own(argument, 'name')) : undefined
    if (name === undefined || !ARGUMENT_NAME.test(name))
      throw new SkippedOperation('the name of a prompt argument is missing or not valid')
    const title = cleanText(own(argument as Dict, 'title'), MAX_TITLE)
    const description = cleanText(own(argument as Dict, 'description'), MAX_FIELD_DESCRIPTION)
    return {
      name,
      ...(title === '' ? {} : { title }),
      ...(description === '' ? {} : { description }),
      ...(own(argument as Dict, 'required') === true ? { required: true } : {}),
    }
  })
}

/** Arguments of prompts are texts (MCP, prompts). */
function promptSchema(parameters: readonly PromptArgument[]): ObjectSchema {
  const required = parameters.filter(({ required }) => required === true).map(({ name }) => name)
  return {
    type: 'object',
    properties: Object.fromEntries(parameters.map(({ name }) => [name, { type: 'string' }])),
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: false,
  }
}

function contentOf(given: Dict): Dict {
  const mimeType = cleanText(own(given, 'mimeType'), MAX_TITLE)
  const size = own(given, 'size')
  const annotations = own(given, 'annotations')
  return {
    ...(mimeType === '' ? {} : { mimeType }),
    ...(typeof size === 'number' && Number.isSafeInteger(size) && size >= 0 ? { size } : {}),
    ...(isObject(annotations) ? annotationsOf(annotations) : {}),
  }
}

/** MCP, Annotations. */
function annotationsOf(given: Dict): Dict {
  const audience = list(own(given, 'audience')).filter(role => role === 'user' || role === 'assistant')
  const priority = own(given, 'priority')
  const lastModified = cleanText(own(given, 'lastModified'), 40)
  const annotations = {
    ...(audience.length === 0 ? {} : { audience }),
    ...(typeof priority === 'number' && priority >= 0 && priority <= 1 ? { priority } : {}),
    ...(lastModified === '' ? {} : { lastModified }),
  }
  return Object.keys(annotations).length === 0 ? {} : { annotations }
}

/** Only https addresses, and images as `data:` URLs. */
function iconsOf(given: unknown): Dict {
  const icons = list(given)
    .slice(0, MAX_ICONS)
    .filter(isObject)
    .map(icon => ({ src: own(icon, 'src'), mimeType: own(icon, 'mimeType'), sizes: own(icon, 'sizes') }))
    .filter(
      ({ src }) => typeof src === 'string' && /^(?:https:|data:image\/)/.test(src) && src.length <= 8_192,
    )
    .map(({ src, mimeType, sizes }) => ({
      src,
      ...(typeof mimeType === 'string' ? { mimeType } : {}),
      ...(Array.isArray(sizes) && sizes.every(size => typeof size === 'string') ? { sizes } : {}),
    }))
  return icons.length === 0 ? {} : { icons }
}
