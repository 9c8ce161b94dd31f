/** The place and form of the gateway's fixed credential in a request to a backend. */
import type { BackendAuthentication } from '../../model/tool.ts'

export interface Credential {
  readonly place: 'header' | 'query' | 'cookie'
  readonly name: string
  readonly value: string
}

/** RFC 6750 §2.1, RFC 7617 §2, OpenAPI 3.1 §4.8.27. undefined when there is nothing to show, and for the types of OAuth. */
export function credentialOf(authentication: BackendAuthentication): Credential | undefined {
  const { type, credential } = authentication
  if (credential === undefined || credential === '') return undefined
  if (type === 'bearer') return { place: 'header', name: 'authorization', value: `Bearer ${credential}` }
  if (type === 'basic') {
    return {
      place: 'header',
      name: 'authorization',
      value: `Basic ${Buffer.from(credential).toString('base64')}`,
    }
  }
  if (type !== 'apiKey') return undefined
  return { place: authentication.in ?? 'header', name: authentication.name ?? 'X-API-Key', value: credential }
}
