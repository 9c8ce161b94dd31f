/** Makes the signing key of the development provider, or loads and checks it. */
import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  CompactSign,
  calculateJwkThumbprint,
  compactVerify,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
} from 'jose'
import { unlessMissing } from '../../base/fs/missing.ts'

/**
 * The private JWK set in `dataDir`; a start reuses the key, so that tokens and clients outlive a restart of the process.
 * @throws Error naming the file when it exists and is not a key set.
 */
export async function loadSigningKeys(dataDir: string): Promise<{ readonly keys: JWK[] }> {
  const file = join(dataDir, 'dev-identity', 'jwks.json')
  const text = await unlessMissing(readFile(file, 'utf8'))
  if (text !== undefined) {
    await chmod(file, 0o600)
    return checkKeys(text, file)
  }
  const { privateKey } = await generateKeyPair('RS256', { modulusLength: 2048, extractable: true })
  const jwk = await exportJWK(privateKey)
  const keys = { keys: [{ ...jwk, alg: 'RS256', use: 'sig', kid: await calculateJwkThumbprint(jwk) }] }
  await mkdir(join(dataDir, 'dev-identity'), { recursive: true, mode: 0o700 })
  // Written beside and renamed: a crash leaves no half key behind.
  const draft = `${file}.${process.pid}`
  await writeFile(draft, JSON.stringify(keys), { mode: 0o600 })
  await rename(draft, file)
  return keys
}

/** The key signs and verifies once: with a damaged one, every token would be refused without a reason that anyone sees. */
async function checkKeys(text: string, file: string): Promise<{ readonly keys: JWK[] }> {
  try {
    const { keys } = JSON.parse(text) as { readonly keys: JWK[] }
    for (const { kid, ...jwk } of keys) {
      if (kid !== (await calculateJwkThumbprint(jwk))) throw new Error('kid is not the thumbprint of the key')
      const { kty, n, e } = jwk as { kty: string; n?: string; e?: string }
      const signed = await new CompactSign(Buffer.from(kid!))
        .setProtectedHeader({ alg: 'RS256' })
        .sign(await importJWK(jwk, 'RS256'))
      await compactVerify(signed, await importJWK({ kty, n, e } as JWK, 'RS256'))
    }
    if (keys.length > 0) return { keys }
  } catch {
    // reported below
  }
  throw new Error(
    `${file} is not a key set, or is damaged. Delete the file: the embedded identity provider creates a new key at its next start.`,
  )
}
