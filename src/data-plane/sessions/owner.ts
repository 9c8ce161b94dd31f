/** The owner of a session, as a short hash that an id can contain. It reads no credential. */
import { createHash } from 'node:crypto'
import type { Principal } from '../../model/principal.ts'

const owners = new WeakMap<Principal, string>()

/** 16 hex digits over tenant, subject and consumer: the same for every token of one caller. */
export function ownerOf(principal: Principal): string {
  const known = owners.get(principal)
  if (known !== undefined) return known
  const owner = createHash('sha256')
    .update(JSON.stringify([principal.tenant ?? null, principal.subject, principal.consumer]))
    .digest('hex')
    .slice(0, 16)
  owners.set(principal, owner)
  return owner
}
