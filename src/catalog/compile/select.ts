/** Compares operations of a document, or entries of an MCP server, with `spec.selector`, apart from its `annotations`. Pure. */
import type { OperationSelector } from '../../model/tool-set.ts'

export interface Selectable {
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

/** Entries that no operation matches, as `field: entry`. */
export function unmatchedEntries(
  operations: Iterable<Selectable>,
  selector: OperationSelector,
): readonly string[] {
  const { tags = [], excludeTags = [], methods = [], operationIds = [], pathPrefix } = selector
  const open = new Set([
    ...tags.map(tag => `tags: ${tag}`),
    ...excludeTags.map(tag => `excludeTags: ${tag}`),
    ...methods.map(method => `methods: ${method}`),
    ...operationIds.map(id => `operationIds: ${id}`),
    ...(pathPrefix === undefined ? [] : [`pathPrefix: ${pathPrefix}`]),
  ])
  for (const operation of open.size === 0 ? [] : operations) {
    for (const tag of operation.tags) {
      open.delete(`tags: ${tag}`)
      open.delete(`excludeTags: ${tag}`)
    }
    open.delete(`methods: ${operation.method}`)
    open.delete(`operationIds: ${operation.operationId}`)
    if (pathPrefix !== undefined && operation.path.startsWith(pathPrefix))
      open.delete(`pathPrefix: ${pathPrefix}`)
  }
  return [...open]
}

function isGiven(values: readonly string[] | undefined): values is readonly string[] {
  return values !== undefined && values.length > 0
}
