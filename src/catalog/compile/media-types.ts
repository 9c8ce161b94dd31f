/** Normalizes, classifies and orders media types, and builds values of `Content-Type` and `Accept`. */

/** How a value becomes bytes in this media type. */
export type BodyKind = 'json' | 'form' | 'multipart' | 'text' | 'binary'

/** `type/subtype` in lower case without parameters; undefined when invalid. Ranges (`image/*`) are valid. */
export function essence(mediaType: string): string | undefined {
  const bare = mediaType.split(';', 1)[0]!.trim().toLowerCase()
  return /^[a-z0-9!#$&^_.+*-]+\/[a-z0-9!#$&^_.+*-]+$/.test(bare) ? bare : undefined
}

export function kindOfBody(type: string): BodyKind {
  if (isJson(type) || type === '*/*') return 'json'
  if (type === 'application/x-www-form-urlencoded') return 'form'
  if (type.startsWith('multipart/')) return 'multipart'
  if (
    type.startsWith('text/') ||
    /[/+](xml|yaml|x-yaml|javascript|graphql|sparql-query|csv|x-ndjson|jsonl)$/.test(type)
  ) {
    return 'text'
  }
  return 'binary'
}

export function isJson(type: string): boolean {
  return type === 'application/json' || type === 'text/json' || type.endsWith('+json')
}

const RANK: { readonly [kind in BodyKind]: number } = { json: 1, form: 2, multipart: 3, text: 4, binary: 5 }

/** Sorts by how easily an agent can fill a body: JSON first, raw bytes last; ties keep the order of the document. */
export function byPreference(a: string, b: string): number {
  return rank(a) - rank(b)
}

function rank(type: string): number {
  if (type === 'application/json') return 0
  return type === '*/*' ? 3.5 : RANK[kindOfBody(type)]
}

/** A type for `Content-Type`, which does not allow ranges. */
export function concrete(type: string, kind: BodyKind): string {
  if (!type.includes('*')) return type
  if (kind === 'json') return 'application/json'
  return kind === 'text' ? 'text/plain' : 'application/octet-stream'
}

/** Value of `Accept`: up to four given types, JSON first, and any other type, because backends deviate from their documents. */
export function acceptOf(types: readonly string[]): string {
  const named = [...new Set(types)]
    .filter(type => type !== '*/*')
    .sort(byPreference)
    .slice(0, 4)
  return named.length === 0 ? 'application/json, */*;q=0.8' : `${named.join(', ')}, */*;q=0.5`
}
