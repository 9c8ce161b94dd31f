/** Converts a tool with exact numbers to plain data and back. */
import { holdsExact, readJson, withDoubles, writeJson } from '../base/json/exact-number.ts'
import type { Tool } from './tool.ts'

type Parts = Pick<Tool, 'inputSchema' | 'outputSchema'> & Pick<Tool['request'], 'fixed'>

/** The tool as plain data: exact numbers are in `exact`, and the nearest doubles in their places. */
export function asPlainTool(tool: Tool): Tool {
  const { exact: _, ...rest } = tool
  const { inputSchema, outputSchema, request } = rest
  const parts = { inputSchema, outputSchema, fixed: request.fixed }
  return holdsExact(parts)
    ? { ...withParts(rest, withDoubles(parts) as Parts), exact: writeJson(parts) }
    : rest
}

/** The tool with its exact numbers; the same object where it has none. */
export function asExactTool(tool: Tool): Tool {
  if (tool.exact === undefined) return tool
  const { exact, ...rest } = tool
  return withParts(rest, readJson(exact) as Parts)
}

function withParts(tool: Tool, { inputSchema, outputSchema, fixed }: Parts): Tool {
  return {
    ...tool,
    inputSchema,
    ...(outputSchema === undefined ? {} : { outputSchema }),
    request: { ...tool.request, ...(fixed === undefined ? {} : { fixed }) },
  }
}
