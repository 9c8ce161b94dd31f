/** Replaces what follows the origin in addresses of webhooks and callbacks by a digest, in the values of audit records. It masks nothing else. */
import { createHash } from 'node:crypto'
import { originOf } from '../../model/upstream-url.ts'

/** Fields of webhooks and subscriptions. Paths and queries of such addresses hold tokens. */
const ADDRESSES = ['url', 'callback_url'] as const
/** Of the SHA-256 of the whole address, so that every change of it is visible. */
const DIGEST_CHARACTERS = 12
const MASKED = new RegExp(`^/\\[sha256:[0-9a-f]{${DIGEST_CHARACTERS}}\\]$`)

type Values = Readonly<Record<string, unknown>>

/** @param values under the names of the API; masked ones stay as they are */
export function maskAddresses(values: Values): Values {
  const masked = ADDRESSES.flatMap(name => {
    const value = values[name]
    return typeof value === 'string' ? [[name, maskAddress(value)] as const] : []
  })
  return masked.length === 0 ? values : { ...values, ...Object.fromEntries(masked) }
}

/** `https://hooks.example/[sha256:1f2e3d4c5b6a]`; an address that consists of its origin stays. */
function maskAddress(address: string): string {
  const origin = originOf(address) ?? ''
  const rest = address.startsWith(origin) ? address.slice(origin.length) : address
  if (rest === '' || rest === '/' || MASKED.test(rest)) return address
  const digest = createHash('sha256').update(address).digest('hex').slice(0, DIGEST_CHARACTERS)
  return `${origin}/[sha256:${digest}]`
}
