/** Determines the authentication at a backend, where API keys of a document are sent, and which schemes an operation requires. */

import { isObject } from '../../base/json/is-object.ts'
import type { BoundSecret } from '../../model/bound-secret.ts'
import type { BackendAuthentication } from '../../model/tool.ts'
import type { DeclaredAuthentication } from '../../model/tool-set.ts'
import { type Dict, list, own, text } from './dict.ts'
import type { OpenDocument, RawOperation } from './document.ts'
import { modernSecuritySchemes } from './swagger2.ts'

const DEFAULT_KEY_HEADER = 'X-API-Key'

export function authenticationOf(
  document: OpenDocument,
  raw: RawOperation,
  declared: DeclaredAuthentication,
  secret: BoundSecret | undefined,
): BackendAuthentication {
  const place = declared.type === 'apiKey' ? keyPlaceOf(document, raw) : {}
  return resolvedAuthentication(declared, secret, place)
}

/** With the secret that its reference names; a credential of type apiKey has a place. */
export function resolvedAuthentication(
  { type, oauth }: DeclaredAuthentication,
  secret: BoundSecret | undefined,
  place: Pick<BackendAuthentication, 'in' | 'name'>,
): BackendAuthentication {
  if (type === 'none') return { type }
  return {
    type,
    ...(type === 'apiKey' ? place : {}),
    ...(oauth === undefined ? {} : { oauth }),
    ...(secret === undefined ? {} : { credential: secret.value }),
    ...(secret?.hosts === undefined ? {} : { hosts: secret.hosts }),
  }
}

function keyPlaceOf(document: OpenDocument, raw: RawOperation): Pick<BackendAuthentication, 'in' | 'name'> {
  for (const scheme of schemesOf(document, raw)) {
    const place = own(scheme, 'in')
    const name = text(own(scheme, 'name'))
    if (own(scheme, 'type') !== 'apiKey' || name === undefined) continue
    if (place === 'header' || place === 'query' || place === 'cookie') return { in: place, name }
  }
  return { in: 'header', name: DEFAULT_KEY_HEADER }
}

/** Place and name of a parameter as one text; names of headers have no case. */
export function placeOf(place: unknown, name: string): string {
  return `${String(place)} ${place === 'header' ? name.toLowerCase() : name}`
}

/** Where the API keys of the document are sent: no caller may set them. */
export function credentialPlaces(document: OpenDocument): ReadonlySet<string> {
  const places = new Set<string>()
  for (const given of Object.values(definedSchemes(document))) {
    const scheme = document.follow(given)
    const name = isObject(scheme) ? text(own(scheme, 'name')) : undefined
    if (isObject(scheme) && own(scheme, 'type') === 'apiKey' && name !== undefined)
      places.add(placeOf(own(scheme, 'in'), name))
  }
  return places
}

/** The schemes that every call of the operation needs one of; empty when calls without credential are allowed. */
export function requiredSchemes(document: OpenDocument, raw: RawOperation): readonly string[] {
  const operation = isObject(raw.operation) ? raw.operation : {}
  const given = list(own(operation, 'security') ?? own(document.root, 'security'))
  const alternatives = given.map(requirement => (isObject(requirement) ? Object.keys(requirement) : []))
  return alternatives.some(names => names.length === 0) ? [] : [...new Set(alternatives.flat())]
}

function definedSchemes(document: OpenDocument): Dict {
  if (document.dialect === '2.0') return modernSecuritySchemes(document)
  const components = document.follow(own(document.root, 'components'))
  const defined = isObject(components) ? document.follow(own(components, 'securitySchemes')) : undefined
  return isObject(defined) ? defined : {}
}

/** Schemes of the operation, of the document, then all defined ones, because documents often lack `security`. */
function* schemesOf(document: OpenDocument, raw: RawOperation): Generator<Dict> {
  const defined = definedSchemes(document)
  const operation = isObject(raw.operation) ? raw.operation : {}
  for (const holder of [operation, document.root]) {
    for (const requirement of list(own(holder, 'security'))) {
      for (const name of isObject(requirement) ? Object.keys(requirement) : []) {
        const scheme = document.follow(own(defined, name))
        if (isObject(scheme)) yield scheme
      }
    }
  }
  for (const name of Object.keys(defined)) {
    const scheme = document.follow(defined[name])
    if (isObject(scheme)) yield scheme
  }
}
