/** Which operations of a document become tools (specification, "spec.selector"). Pure. */
import type { OperationSelector } from '../../model/tool-set.ts'

export interface Selectable {
  readonly method: string
  readonly path: string
  readonly operationId: string | undefined
  readonly tags: readonly string[]
}

/** Every field given must agree; an empty list is a field that is not given. */
export function isSelected(operation: Selectable, selector: OperationSelector): boolean {
  const { tags, excludeTags, methods, pathPrefix, operationIds } = selector
  if (isGiven(tags) && !operation.tags.some(tag => tags.includes(tag))) return false
  if (isGiven(excludeTags) && operation.tags.some(tag => excludeTags.includes(tag))) return false
  if (isGiven(methods) && !methods.includes(operation.method)) return false
  if (pathPrefix !== undefined && !operation.path.startsWith(pathPrefix)) return false
  if (isGiven(operationIds))
    return operation.operationId !== undefined && operationIds.includes(operation.operationId)
  return true
}

function isGiven(values: readonly string[] | undefined): values is readonly string[] {
  return values !== undefined && values.length > 0
}
