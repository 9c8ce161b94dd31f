/** Behavior hints by HTTP method. Tool resources that override them are applied elsewhere. */
import type { ToolAnnotations } from '../../model/tool.ts'

export function annotationsOf(method: string, title: string): ToolAnnotations {
  const reads = ['GET', 'HEAD', 'OPTIONS', 'QUERY'].includes(method)
  return {
    ...(title === '' ? {} : { title }),
    readOnlyHint: reads,
    destructiveHint: method === 'DELETE',
    idempotentHint: reads || method === 'PUT' || method === 'DELETE',
    openWorldHint: true,
  }
}
