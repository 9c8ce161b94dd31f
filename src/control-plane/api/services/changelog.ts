/** The changelog of an API for the catalog, from audit records. */
import type { Api } from '../../../model/api.ts'
import type { Transaction } from '../../store/store.ts'

export const API_CHANGES = ['published', 'version', 'status', 'document', 'description'] as const

export interface ApiChange {
  readonly at: Date
  readonly kind: (typeof API_CHANGES)[number]
  /** For version and status. */
  readonly from: string | null
  readonly to: string | null
}

/** The newest are read. */
const MAX_RECORDS = 50

type Fields = Readonly<Record<string, unknown>>

/** Changes, the newest first. @param isShown whether the catalog shows the caller an API with these fields */
export async function apiChangelog(
  tx: Transaction,
  { id, tenantId }: Pick<Api, 'id' | 'tenantId'>,
  isShown: (fields: Fields) => boolean,
): Promise<readonly ApiChange[]> {
  const filter = { tenantId, resourceType: 'api', resourceId: id }
  const records = await tx.audit.list(filter, {}, MAX_RECORDS)
  const changes: ApiChange[] = []
  for (const { at, before, after } of records) {
    if (after === null) continue
    const now = JSON.parse(after) as Fields
    const old = before === null ? undefined : (JSON.parse(before) as Fields)
    // what happened before the API was shown is not for its readers
    if (!isShown(now)) break
    if (old === undefined || !isShown(old)) {
      changes.push({ at, kind: 'published', from: null, to: textOf(now.version) })
      break
    }
    for (const kind of ['version', 'status'] as const)
      if (old[kind] !== now[kind]) changes.push({ at, kind, from: textOf(old[kind]), to: textOf(now[kind]) })
    for (const [kind, name] of [
      ['document', 'spec'],
      ['description', 'description'],
    ] as const)
      if (JSON.stringify(old[name]) !== JSON.stringify(now[name]))
        changes.push({ at, kind, from: null, to: null })
  }
  return changes
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}
