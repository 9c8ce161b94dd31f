/** Rules for the authentication at a backend in a spec, and what the catalog reads from it. */

import {
  type backendAuthentication,
  CODE_FIELDS,
  OAUTH_FIELDS,
} from '../../model/schema/backend-authentication.ts'
import type { z } from '../../model/schema/resource-fields.ts'
import { AUTHENTICATION_TYPES, OAUTH_TYPES } from '../../model/tool.ts'
import type { DeclaredAuthentication } from '../../model/tool-set.ts'
import type { SpecPart } from './spec-rules.ts'

/** What the type requires, and what does not apply to it. */
export function checkAuthentication(part: SpecPart): void {
  const type = part.get('type') ?? 'none'
  if (!AUTHENTICATION_TYPES.some(one => one === type)) return
  const isOAuth = OAUTH_TYPES.some(one => one === type)
  const isCode = type === 'authorization_code'
  const isPublic = isOAuth && part.get('clientAuthentication') === 'none'
  if (type !== 'none' && !isPublic && !part.has('secretRef')) {
    const content = isOAuth ? 'the client secret' : 'the credential'
    part.fault('secretRef', `is missing for type ${type}`, `name the secret that contains ${content}`)
  }
  if (type === 'oauth2_client_credentials' && isPublic)
    part.fault(
      'clientAuthentication',
      'is none',
      'write basic or post: the client credentials grant requires the client secret',
    )
  const required = [...(isOAuth ? ['tokenUrl', 'clientId'] : []), ...(isCode ? ['authorizationUrl'] : [])]
  for (const name of required)
    if (!part.has(name)) part.fault(name, `is missing for type ${type}`, `write ${name}, or another type`)
  const unused = [...(isOAuth ? [] : OAUTH_FIELDS), ...(isCode ? [] : CODE_FIELDS)]
  for (const name of unused)
    if (part.has(name)) part.fault(name, `does not apply to type ${type}`, 'remove it, or write another type')
}

/** @param given a value for which `checkAuthentication` has found no fault */
export function toAuthentication(given: z.output<typeof backendAuthentication>): DeclaredAuthentication {
  const { type, secretRef, tokenUrl, clientId, clientAuthentication = 'basic', ...rest } = given
  return {
    type,
    ...(secretRef === undefined ? {} : { secretRef }),
    ...(tokenUrl === undefined || clientId === undefined
      ? {}
      : { oauth: { tokenUrl, clientId, clientAuthentication, ...rest } }),
  }
}
