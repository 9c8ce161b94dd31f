/**
 * Turns the results of resources, prompts and completions of an MCP server into results for clients. `mcp-result.ts` checks their content
 * parts.
 */
import { isObject } from '../../../base/json/is-object.ts'
import { isContent, metaOf, withUris } from './mcp-result.ts'

type Dict = { readonly [name: string]: unknown }

const MAX_PARTS = 1_000
/** MCP, completion: at most so many values. */
const MAX_VALUES = 100
const MAX_VALUE_CHARS = 2_000

/** @returns undefined when the server did not send a result of that method */
export function featureResult(method: string, result: Dict, uriPrefix: string): Dict | undefined {
  if (method === 'completion/complete') return completionOf(result)
  const read = method === 'prompts/get' ? promptOf(result, uriPrefix) : contentsOf(result, uriPrefix)
  if (read === undefined) return undefined
  const _meta = metaOf(result._meta)
  return _meta === undefined ? read : { ...read, _meta }
}

function contentsOf({ contents }: Dict, uriPrefix: string): Dict | undefined {
  if (!Array.isArray(contents) || contents.length > MAX_PARTS) return undefined
  const resources = contents.map(resource => ({ type: 'resource', resource }))
  if (!resources.every(isContent)) return undefined
  return { contents: resources.map(part => (withUris(part, uriPrefix) as Dict).resource) }
}

function promptOf({ messages, description }: Dict, uriPrefix: string): Dict | undefined {
  if (!Array.isArray(messages) || messages.length > MAX_PARTS) return undefined
  const read: Dict[] = []
  for (const message of messages as unknown[]) {
    if (!isObject(message)) return undefined
    const { role, content } = message
    if ((role !== 'user' && role !== 'assistant') || !isObject(content) || !isContent(content))
      return undefined
    read.push({ role, content: withUris(content, uriPrefix) })
  }
  return { ...(typeof description === 'string' ? { description } : {}), messages: read }
}

function completionOf({ completion }: Dict): Dict | undefined {
  if (!isObject(completion) || !Array.isArray(completion.values)) return undefined
  const { values, total, hasMore } = completion
  const texts = (values as unknown[]).filter(
    value => typeof value === 'string' && value.length <= MAX_VALUE_CHARS,
  )
  return {
    completion: {
      values: texts.slice(0, MAX_VALUES),
      ...(typeof total === 'number' ? { total } : {}),
      ...(typeof hasMore === 'boolean' || texts.length > MAX_VALUES
        ? { hasMore: hasMore === true || texts.length > MAX_VALUES }
        : {}),
    },
  }
}
