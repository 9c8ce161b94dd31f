/** The version of the control plane's share, from the digests of its parts, so that a receiver of the content can verify the version. It reads and sends nothing. */
import { createHash } from 'node:crypto'
import type { ControlShare } from './control-share.ts'

/** Parts are never written to: one that is the same object has the same digest. */
const digests = new WeakMap<object, string>()

/** Digest of one part. Its fields keep their order in JSON and back, so plain JSON is canonical here. */
export function partDigest(part: object): string {
  let digest = digests.get(part)
  if (digest === undefined) {
    digest = createHash('sha256').update(JSON.stringify(part)).digest('hex')
    digests.set(part, digest)
  }
  return digest
}

/** Version of a share from the digests of its parts: changing one tenant costs no hashing of the others. */
export function versionOf(plansDigest: string, tenantDigests: ReadonlyMap<string, string>): string {
  const hash = createHash('sha256').update(plansDigest)
  for (const id of [...tenantDigests.keys()].sort()) hash.update(`\n${id}:${tenantDigests.get(id)}`)
  return hash.digest('hex')
}

/** The version that a share of this content has. Hashes only parts that it has not hashed before. */
export function versionOfContent({ plans, tenants }: Pick<ControlShare, 'plans' | 'tenants'>): string {
  const tenantDigests = new Map([...tenants].map(([id, tenant]) => [id, partDigest(tenant)]))
  return versionOf(partDigest(plans), tenantDigests)
}
