/** Reads `Cache-Control` (RFC 9111 §5.2). */

/** By name in lower case; '' for one without a value. */
export type Directives = ReadonlyMap<string, string>

export function directivesOf(cacheControl: string): Directives {
  const directives = new Map<string, string>()
  for (const [, name, value = ''] of cacheControl.matchAll(/([A-Za-z-]+)\s*(?:=\s*("[^"]*"|[^\s,]*))?/g))
    directives.set(name!.toLowerCase(), value.replaceAll('"', ''))
  return directives
}

/** Whole seconds; undefined when absent or not a number (§1.2.2: the largest that can be used is enough). */
export function secondsOf(directives: Directives, name: string): number | undefined {
  const value = directives.get(name)
  return value !== undefined && /^\d{1,15}$/.test(value) ? Number(value) : undefined
}
