/** Reduces a tool to fields that clients see, without backend and credentials. Pure. */
import type { Tool } from '../../model/tool.ts'

type ServedTool = Pick<
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
