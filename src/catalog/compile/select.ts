/** Selects the operations of a document that become tools, by `spec.selector`. Pure. */
import type { OperationSelector } from '../../model/tool-set.ts'

interface Selectable {
  readonly method: string
  readonly path: string
  readonly operationId: string | undefined
  readonly tags: readonly string[]
}

/** Every given field must match; an empty list counts as absent. */
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
