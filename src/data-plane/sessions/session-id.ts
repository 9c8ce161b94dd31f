/** Makes, recognizes and reads session ids, which contain the facts of their session and a signature. */

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { LEGACY_VERSIONS } from '../../mcp/versions.ts'
import type { KeyRing } from './key-ring.ts'
import type { SessionFacts } from './session-store.ts'

/**
 * Layout before base64url (visible ASCII, as MCP 2025-03-26 "Session Management" asks):
 *
 *   0        1        2        3            7             15            27          43
 *   | format | key id | flags  | created s  | owner hash  | random      | HMAC-SHA256, first 16 |
 *
 * flags: bits 0–3 version, bit 4 origin is a stream, bits 5 to 7 the client supports elicitation, sampling, roots.
 */
const FORMAT = 1
const BODY_BYTES = 27
const MAC_BYTES = 16
const OWNER_BYTES = 8
const ORIGIN_STREAM = 0x10
const ELICITATION = 0x20
const SAMPLING = 0x40
const ROOTS = 0x80
const ID = /^[A-Za-z0-9_-]{58}$/

const VERSIONS: readonly string[] = LEGACY_VERSIONS

export function mintSessionId(facts: SessionFacts, keys: KeyRing): string {
  const version = VERSIONS.indexOf(facts.protocolVersion)
  if (version < 0) throw new Error(`protocol version ${facts.protocolVersion} has no sessions`)
  const key = keys.current()
  const bytes = Buffer.alloc(BODY_BYTES + MAC_BYTES)
  bytes[0] = FORMAT
  bytes[1] = key.id
  bytes[2] =
    version |
    (facts.origin === 'stream' ? ORIGIN_STREAM : 0) |
    (facts.elicitation ? ELICITATION : 0) |
    (facts.sampling === true ? SAMPLING : 0) |
    (facts.roots === true ? ROOTS : 0)
  bytes.writeUInt32BE(Math.floor(facts.createdAtMs / 1000), 3)
  Buffer.from(facts.owner, 'hex').copy(bytes, 7, 0, OWNER_BYTES)
  randomBytes(12).copy(bytes, 15)
  mac(bytes, key.secret).copy(bytes, BODY_BYTES, 0, MAC_BYTES)
  return bytes.toString('base64url')
}

/** Whether a text may be an id that another key ring has signed. */
export function hasFormOfSessionId(id: string): boolean {
  return ID.test(id) && Buffer.from(id, 'base64url')[0] === FORMAT
}

/** undefined when the id is not one that a key of the ring has signed. */
export function readSessionId(id: string, keys: KeyRing): SessionFacts | undefined {
  if (!hasFormOfSessionId(id)) return undefined
  const bytes = Buffer.from(id, 'base64url')
  const key = keys.find(bytes[1]!)
  if (key === undefined) return undefined
  if (!timingSafeEqual(mac(bytes, key.secret).subarray(0, MAC_BYTES), bytes.subarray(BODY_BYTES)))
    return undefined
  const flags = bytes[2]!
  const protocolVersion = VERSIONS[flags & 0x0f]
  if (protocolVersion === undefined) return undefined
  const owner = bytes.toString('hex', 7, 7 + OWNER_BYTES)
  return {
    protocolVersion,
    origin: (flags & ORIGIN_STREAM) !== 0 ? 'stream' : 'initialize',
    elicitation: (flags & ELICITATION) !== 0,
    ...((flags & SAMPLING) === 0 ? undefined : { sampling: true }),
    ...((flags & ROOTS) === 0 ? undefined : { roots: true }),
    owner: /^0+$/.test(owner) ? '' : owner,
    createdAtMs: bytes.readUInt32BE(3) * 1000,
  }
}

function mac(bytes: Buffer, secret: Uint8Array): Buffer {
  return createHmac('sha256', secret).update(bytes.subarray(0, BODY_BYTES)).digest()
}
