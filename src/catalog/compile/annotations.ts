/** Behavior hints, and whether a tool counts as destructive, by HTTP method. */
import type { ToolAnnotations } from '../../model/tool.ts'

const DESTRUCTIVE: ReadonlySet<string> = new Set(['DELETE', 'PUT', 'PATCH'])

/** Whether calls need the scope `write` unless the author says otherwise. */
export function isDestructive(method: string): boolean {
  return method === 'DELETE'
}

export function annotationsOf(method: string, title: string): ToolAnnotations {
  const reads = ['GET', 'HEAD', 'OPTIONS', 'QUERY'].includes(method)
  // POST creates as often as it changes: clients assume the worse of an absent hint (MCP, "Tool annotations")
  const destructive = reads ? false : method === 'POST' ? undefined : DESTRUCTIVE.has(method)
  return {
    ...(title === '' ? {} : { title }),
    readOnlyHint: reads,
    ...(destructive === undefined ? {} : { destructiveHint: destructive }),
    idempotentHint: reads || method === 'PUT' || method === 'DELETE',
    openWorldHint: true,
  }
}
