/** Methods that rules of an API may name, and whether its rules allow a method. */

export const TRAFFIC_METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

/** @param rules those of the API; `methods` null: every method */
export function allowsMethod(
  { methods }: { readonly methods: readonly string[] | null },
  method: string,
): boolean {
  return methods === null || methods.includes(method === 'HEAD' ? 'GET' : method)
}
