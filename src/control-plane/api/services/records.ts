/** The common fields of new records, and records with a patch applied. */
import { type IdKind, newId } from '../../../model/id.ts'
import type { Transaction } from '../../store/store.ts'

export type Patch<T> = { readonly [K in keyof T]?: T[K] | undefined }

/** A field that is undefined in the patch stays as it is. */
export function applyPatch<T extends object>(record: T, patch: NoInfer<Patch<T>>): T {
  const given = Object.entries(patch).filter(([, value]) => value !== undefined)
  return { ...record, ...(Object.fromEntries(given) as Partial<T>) }
}

/** The fields that every new record has. */
export function newRecord({ now }: Transaction, kind: IdKind) {
  return { id: newId(kind, now.getTime()), revision: 1, createdAt: now, updatedAt: now }
}
