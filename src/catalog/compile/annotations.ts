/** Behaviour hints by HTTP method (contract §8). A Tool resource may say otherwise; this does not know it. */
import type { ToolAnnotations } from '../../model/tool.ts'

export function annotationsOf(method: string, title: string): ToolAnnotations {
  const reads = method === 'GET' || method === 'HEAD' || method === 'OPTIONS'
  return {
    ...(title === '' ? {} : { title }),
    readOnlyHint: reads,
    destructiveHint: method === 'DELETE',
    idempotentHint: reads || method === 'PUT' || method === 'DELETE',
    openWorldHint: true,
  }
}
