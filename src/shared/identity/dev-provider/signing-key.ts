/** The signing key of the development provider: made on first start, kept for its owner alone. It signs nothing. */
import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from 'jose'

/**
 * The private JWK set in `dataDir`; a start reuses the key, so that tokens and clients outlive a restart of the process.
 * @throws Error naming the file when it exists and is not a key set.
 */
export async function loadSigningKeys(dataDir: string): Promise<{ readonly keys: JWK[] }> {
  const file = join(dataDir, 'dev-identity', 'jwks.json')
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (text !== undefined) {
    await chmod(file, 0o600)
    return parse(text, file)
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

function parse(text: string, file: string): { readonly keys: JWK[] } {
  try {
    const parsed = JSON.parse(text) as { keys?: unknown }
    if (Array.isArray(parsed.keys) && parsed.keys.length > 0) return parsed as { keys: JWK[] }
  } catch {
    // Falls through to the error that names the file.
  }
  throw new Error(`${file} is not a key set. Delete it; a new key is made at the next start.`)
}
