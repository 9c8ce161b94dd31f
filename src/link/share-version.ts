/** The version of the control plane's share, computed from its content, and the comparison of two parts. */
import { createHash } from 'node:crypto'
import { runAtOnce } from '../base/async/slices.ts'
import type { ControlShare } from './control-share.ts'
import { digestCache } from './digest-cache.ts'

/** The order of the fields survives JSON, so plain JSON is canonical here. */
const digestOf = digestCache(JSON.stringify)

/** Whether two objects have the same content. */
export function isSamePart(one: object | undefined, other: object): boolean {
  return one !== undefined && digestOf(one) === digestOf(other)
}

type Parts = Pick<ControlShare, 'plans' | 'tenants'>

/** The version of this content. Hashes only the parts that it has not hashed before: one tenant that changed, not the others. */
export function versionOf(parts: Parts): string {
  return runAtOnce(versionSteps(parts))
}

/** As `versionOf`; it may be interrupted after each tenant. */
export function* versionSteps({ plans, tenants }: Parts): Generator<void, string> {
  const hash = createHash('sha256').update(digestOf(plans))
  for (const id of [...tenants.keys()].sort()) {
    hash.update(`\n${id}:${digestOf(tenants.get(id)!)}`)
    yield
  }
  return hash.digest('hex')
}
