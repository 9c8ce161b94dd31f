/** Builds and compiles documents and tool sets for tests of the catalog and of tool requests. */

import { type CompileResult, compileToolSet } from '../../../src/catalog/compile/compile-tool-set.ts'
import type { Tool } from '../../../src/model/tool.ts'
import type { ToolSet } from '../../../src/model/tool-set.ts'
import { DEFAULT_NAMING, DEFAULT_TOOL_DEFAULTS } from '../../../src/model/tool-set.ts'

export type Json = Record<string, unknown>

export function toolSet(changes: Partial<ToolSet> = {}): ToolSet {
  return {
    name: 'shop',
    namespace: 'tenant-acme',
    displayName: 'Shop',
    selector: {},
    toolDefaults: DEFAULT_TOOL_DEFAULTS,
    naming: DEFAULT_NAMING,
    enabled: true,
    baseURL: 'http://backend.test/v1',
    ...changes,
  }
}

/** An OpenAPI 3.1 document with these paths. */
export function openapi(paths: Json, rest: Json = {}): Json {
  return { openapi: '3.1.0', info: { title: 'Shop API', version: '1' }, paths, ...rest }
}

export function compile(document: unknown, changes: Partial<ToolSet> = {}): CompileResult {
  return compileToolSet(document, toolSet(changes))
}

/** The only tool of a document with one operation. */
export function onlyTool(document: unknown, changes: Partial<ToolSet> = {}): Tool {
  const { tools, skipped } = compile(document, changes)
  if (tools.length !== 1) throw new Error(`${tools.length} tools, skipped: ${JSON.stringify(skipped)}`)
  return tools[0]!
}

/** One operation at `POST /things` with this JSON body schema. */
export function withBody(schema: unknown, rest: Json = {}, contentType = 'application/json'): Json {
  const requestBody = { required: true, content: { [contentType]: { schema } } }
  return openapi({ '/things': { post: { operationId: 'makeThing', requestBody } } }, rest)
}

/** One operation at the path with these parameters. */
export function withParameters(path: string, parameters: readonly unknown[], rest: Json = {}): Json {
  return openapi({ [path]: { get: { operationId: 'getThing', parameters } } }, rest)
}
