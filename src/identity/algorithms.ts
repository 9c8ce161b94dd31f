/** The accepted signature algorithms, which of them fit a key, and the verification of signatures. `none` and HMAC are absent on purpose. */
import { constants, type KeyObject, verify } from 'node:crypto'

export type Algorithm =
  | 'RS256'
  | 'RS384'
  | 'RS512'
  | 'PS256'
  | 'PS384'
  | 'PS512'
  | 'ES256'
  | 'ES384'
  | 'ES512'
  | 'EdDSA' // prettier-ignore

interface Row {
  readonly kty: 'RSA' | 'EC' | 'OKP'
  /** Curve the key must lie on; '' for RSA. */
  readonly crv: string
  /** Length of a signature in bytes; 0 when it is that of the RSA modulus. */
  readonly signatureBytes: number
  readonly verify: (data: Uint8Array, key: KeyObject, signature: Uint8Array) => boolean
}

const rsa = (hash: string): Row => ({
  kty: 'RSA',
  crv: '',
  signatureBytes: 0,
  verify: (data, key, signature) => verify(hash, data, key, signature),
})

const pss = (hash: string, saltLength: number): Row => ({
  kty: 'RSA',
  crv: '',
  signatureBytes: 0,
  verify: (data, key, signature) =>
    verify(hash, data, { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength }, signature),
})

const ecdsa = (hash: string, crv: string, signatureBytes: number): Row => ({
  kty: 'EC',
  crv,
  signatureBytes,
  // JWS carries r and s side by side (RFC 7518 §3.4), not the DER form that is Node's default.
  verify: (data, key, signature) => verify(hash, data, { key, dsaEncoding: 'ieee-p1363' }, signature),
})

/** docs/reference/http.md, Tokens; RFC 7518 §3.1 and RFC 8037 §3.1. */
const ROWS: Readonly<Record<Algorithm, Row>> = {
  RS256: rsa('sha256'),
  RS384: rsa('sha384'),
  RS512: rsa('sha512'),
  PS256: pss('sha256', 32),
  PS384: pss('sha384', 48),
  PS512: pss('sha512', 64),
  ES256: ecdsa('sha256', 'P-256', 64),
  ES384: ecdsa('sha384', 'P-384', 96),
  ES512: ecdsa('sha512', 'P-521', 132),
  EdDSA: {
    kty: 'OKP',
    crv: 'Ed25519',
    signatureBytes: 64,
    verify: (data, key, signature) => verify(null, data, key, signature),
  },
}

export function isAlgorithm(name: unknown): name is Algorithm {
  return typeof name === 'string' && Object.hasOwn(ROWS, name)
}

/** The algorithms a public JWK may verify by its type and curve, narrowed by its own `alg`. */
export function algorithmsOf(jwk: { kty?: unknown; crv?: unknown; alg?: unknown }): readonly Algorithm[] {
  const { kty, alg } = jwk
  const crv = jwk.crv ?? ''
  return (Object.keys(ROWS) as Algorithm[]).filter(name => {
    const row = ROWS[name]
    return row.kty === kty && (kty === 'RSA' || row.crv === crv) && (alg === undefined || alg === name)
  })
}

/** Never throws: what OpenSSL cannot read is not a valid signature. */
export function verifies(
  algorithm: Algorithm,
  key: KeyObject,
  data: Uint8Array,
  signature: Uint8Array,
): boolean {
  const row = ROWS[algorithm]
  if (row.signatureBytes !== 0 && signature.byteLength !== row.signatureBytes) return false
  try {
    return row.verify(data, key, signature)
  } catch {
    return false
  }
}
