/** Builds entity tags and checks `If-Match`. */
import { Problem } from './problem.ts'

export function entityTag(revision: number | string): string {
  return `"${revision}"`
}

/**
 * Checks `If-Match` against the current revision; '' = no precondition. Weak tags never match (strong comparison).
 * @throws Problem precondition_failed
 */
export function checkIfMatch(ifMatch: string, revision: number): void {
  if (ifMatch === '' || ifMatch.trim() === '*') return
  const tags = ifMatch.split(',').map(tag => tag.trim())
  if (tags.includes(entityTag(revision))) return
  throw new Problem(
    'precondition_failed',
    `The resource has changed: its ETag is now ${entityTag(revision)}. Read the resource again, then repeat the change with the new ETag.`,
  )
}
