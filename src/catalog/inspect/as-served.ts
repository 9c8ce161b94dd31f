/** A tool as clients see it (specification, "Tool"): nothing about backends or credentials. */
import type { Tool } from '../../model/tool.ts'

export type ServedTool = Pick<
  Tool,
  'name' | 'title' | 'description' | 'inputSchema' | 'outputSchema' | 'annotations'
>

export function asServed(tool: Tool): ServedTool {
  const { name, title, description, inputSchema, outputSchema, annotations } = tool
  return {
    name,
    ...(title === undefined ? {} : { title }),
    description,
    inputSchema,
    ...(outputSchema === undefined ? {} : { outputSchema }),
    annotations,
  }
}
