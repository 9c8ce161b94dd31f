/** Parses JSON or YAML documents within limits on size, depth and number of values. It does not interpret OpenAPI. */
import { parseDocument as parseYaml } from 'yaml'
import { ExactNumber, readJson } from '../../base/json/exact-number.ts'
import { DocumentError } from '../compile/document.ts'
import { EXACT_NUMBERS } from './yaml-numbers.ts'

/** The largest known document (Microsoft Graph) has 47.1 million bytes. */
export const MAX_DOCUMENT_BYTES = 48_000_000
/** Parsing YAML takes about 30 times as long as JSON. */
const MAX_YAML_CHARS = 16_000_000
const MAX_DEPTH = 500
export const MAX_VALUES = 10_000_000
/** Real documents have few aliases; an alias bomb needs many. */
const MAX_ALIASES = 1_000

/**
 * Numbers that a double would change are `ExactNumber`s.
 * @throws DocumentError with a message for the operator
 */
export function parseDocumentText(text: string): unknown {
  if (text.length > MAX_DOCUMENT_BYTES) throw tooLarge()
  const source = text.charCodeAt(0) === 0xfeff ? text.slice(1) : text
  const start = source.trimStart()
  if (start === '') throw new DocumentError('the document is empty')
  if (start.startsWith('<')) {
    throw new DocumentError(
      'the document is HTML or XML, not OpenAPI: check the URL or the content of the document',
    )
  }
  const value = start.startsWith('{') || start.startsWith('[') ? parseBraces(source) : parseAsYaml(source)
  checkExtent(value)
  return value
}

export function tooLarge(): DocumentError {
  return new DocumentError(`the document is larger than ${MAX_DOCUMENT_BYTES / 1e6} MB: split it`)
}

function parseBraces(source: string): unknown {
  try {
    return readJson(source)
  } catch (error) {
    // YAML flow style looks like JSON; when both fail, the JSON error is the more useful one.
    const fault = error instanceof Error ? error.message : String(error)
    if (source.length > 1_000_000)
      throw new DocumentError(`the document is not valid JSON: ${fault.slice(0, 200)}`)
    try {
      return parseAsYaml(source)
    } catch {
      throw new DocumentError(`the document is not valid JSON: ${fault.slice(0, 200)}`)
    }
  }
}

function parseAsYaml(source: string): unknown {
  if (source.length > MAX_YAML_CHARS) {
    throw new DocumentError(`the YAML document is larger than ${MAX_YAML_CHARS / 1e6} MB: provide it as JSON`)
  }
  try {
    const document = parseYaml(source, {
      ...EXACT_NUMBERS,
      merge: true,
      uniqueKeys: false,
      logLevel: 'silent',
      prettyErrors: false,
    })
    const fault = document.errors[0]
    if (fault !== undefined)
      throw new DocumentError(`the document is not valid YAML: ${fault.message.slice(0, 200)}`)
    return document.toJS({ maxAliasCount: MAX_ALIASES })
  } catch (error) {
    if (error instanceof DocumentError) throw error
    if (error instanceof RangeError) throw new DocumentError('the document is nested too deeply')
    throw new DocumentError(
      `the document is not valid YAML: ${String((error as Error).message).slice(0, 200)}`,
    )
  }
}

/** A small text with aliases can expand to a huge number of values, so each aliased value counts each time it appears. */
function checkExtent(root: unknown): void {
  let level: object[] = root !== null && typeof root === 'object' ? [root] : []
  let count = 0
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) throw new DocumentError(`the document is nested deeper than ${MAX_DEPTH} levels`)
    const next: object[] = []
    for (const value of level) {
      for (const child of Object.values(value)) {
        count++
        if (child !== null && typeof child === 'object' && !(child instanceof ExactNumber)) next.push(child)
      }
      if (count > MAX_VALUES)
        throw new DocumentError(`the document contains more than ${MAX_VALUES} values: split it`)
    }
    level = next
  }
}
