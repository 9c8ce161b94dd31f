/** Makes a function that verifies a compact JWS with a public key. It does not interpret the payload. */
import { createPublicKey } from 'node:crypto'
import { compactVerify } from 'jose'

/** Public keys only: a process that can verify must not be able to sign. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA']

/**
 * @param pem a public key (SPKI) or certificate.
 * @returns what checks a JWS and hands out its payload; it rejects what is not signed by this key.
 * @throws Error when the text is not a public key.
 */
export function jwsVerifier(pem: string): (jws: string) => Promise<Uint8Array> {
  // a private key would be taken for the public one within it, and should not lie on a gateway
  if (pem.includes('PRIVATE KEY')) throw new Error('this is a private key; use the public key')
  const key = createPublicKey(pem)
  return async jws => (await compactVerify(jws, key, { algorithms: ALGORITHMS })).payload
}
