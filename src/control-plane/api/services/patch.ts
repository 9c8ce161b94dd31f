/** Patches of records: a field that is undefined stays as it is. It reads and writes no record. */

export type Patch<T> = { readonly [K in keyof T]?: T[K] | undefined }

export function patched<T extends object>(record: T, patch: NoInfer<Patch<T>>): T {
  const given = Object.entries(patch).filter(([, value]) => value !== undefined)
  return { ...record, ...(Object.fromEntries(given) as Partial<T>) }
}
