/** Replaces the parts of addresses that may hold a credential by a digest, in values for audit records and for comparisons of configurations. */
import { createHash } from 'node:crypto'
import { isObject } from '../../base/json/is-object.ts'
import { shownAddress } from '../../base/shown-address.ts'
import { originOf } from '../../model/upstream-url.ts'

/** Digest characters of the SHA-256 of the whole address, so that every change of it is visible. */
const DIGEST_CHARACTERS = 12
const MASKED = new RegExp(`^[/?]\\[sha256:[0-9a-f]{${DIGEST_CHARACTERS}}\\]$`)

/** `tokenUrl`: audit records have the fields inside of `mcp` under the names of the code. */
const MASKS: { readonly [field: string]: (value: unknown) => unknown } = {
  // of webhooks and subscriptions: paths and queries of such addresses hold tokens
  url: ofText(maskRest),
  callback_url: ofText(maskRest),
  // of APIs: readers of a record need the path
  upstream_url: ofText(maskQuery),
  token_url: ofText(maskQuery),
  tokenUrl: ofText(maskQuery),
  mcp: maskWithin,
  authentication: maskWithin,
}

type Values = Readonly<Record<string, unknown>>

/** @param values under the names of the API; masked ones stay as they are */
export function maskAddresses(values: Values): Values {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, maskField(name, value)]))
}

/** The value of one field, likewise. */
export function maskField(name: string, value: unknown): unknown {
  return Object.hasOwn(MASKS, name) ? MASKS[name]!(value) : value
}

function maskWithin(value: unknown): unknown {
  return isObject(value) ? maskAddresses(value) : value
}

function ofText(mask: (address: string) => string): (value: unknown) => unknown {
  return value => (typeof value === 'string' ? mask(value) : value)
}

/** `https://hooks.example/[sha256:1f2e3d4c5b6a]`; an address that consists of its origin stays. */
function maskRest(address: string): string {
  const origin = originOf(address) ?? ''
  const rest = address.startsWith(origin) ? address.slice(origin.length) : address
  if (rest === '' || rest === '/' || MASKED.test(rest)) return address
  return `${origin}/[${digestOf(address)}]`
}

/** `https://mcp.example/crm?[sha256:1f2e3d4c5b6a]`; an address without a query stays. */
function maskQuery(address: string): string {
  const shown = shownAddress(address, address.length)
  if (shown === address || MASKED.test(address.slice(shown.length))) return address
  return `${shown}?[${digestOf(address)}]`
}

function digestOf(address: string): string {
  return `sha256:${createHash('sha256').update(address).digest('hex').slice(0, DIGEST_CHARACTERS)}`
}
