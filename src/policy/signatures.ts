/** Checks the files of a bundle against its signed list, in OPA's format. It verifies no JWS itself: it receives the function for it. */

import { createHash } from 'node:crypto'
import { parseJson } from '../base/json/parse-json.ts'

export const SIGNATURES_FILE = '.signatures.json'

/**
 * Checks one compact JWS.
 * @returns its payload.
 * @throws Error when the signature is none of the expected key's.
 */
export type VerifyJws = (jws: string) => Promise<Uint8Array>

interface SignedFile {
  readonly name: string
  readonly hash: string
  readonly algorithm?: string
}

/** OPA's names of hashes → Node's (OPA, "Bundle Signature Verification"). Broken ones are not here. */
const HASHES: Readonly<Record<string, string>> = {
  'SHA-224': 'sha224',
  'SHA-256': 'sha256',
  'SHA-384': 'sha384',
  'SHA-512': 'sha512',
  'SHA-512-224': 'sha512-224',
  'SHA-512-256': 'sha512-256',
}

/**
 * Every file must be signed with its present content, and no signed file may be missing.
 * @throws Error that says what is not as it was signed.
 */
export async function verifySignatures(
  files: ReadonlyMap<string, Uint8Array>,
  verify: VerifyJws,
): Promise<void> {
  const signed = new Map((await signedFiles(files, verify)).map(file => [file.name.replace(/^\//, ''), file]))
  for (const [name, content] of files) {
    if (name === SIGNATURES_FILE) continue
    const entry = signed.get(name)
    if (entry === undefined) throw new Error(`"${name}" is not signed`)
    const algorithm = HASHES[entry.algorithm ?? 'SHA-256']
    if (algorithm === undefined)
      throw new Error(`the hash algorithm in the signature for "${name}" is not supported`)
    if (hashOf(name, content, algorithm) !== entry.hash)
      throw new Error(`"${name}" differs from the signed content`)
    signed.delete(name)
  }
  for (const name of signed.keys()) throw new Error(`"${name}" was signed, but is missing`)
}

async function signedFiles(
  files: ReadonlyMap<string, Uint8Array>,
  verify: VerifyJws,
): Promise<readonly SignedFile[]> {
  const content = files.get(SIGNATURES_FILE)
  if (content === undefined)
    throw new Error('the bundle is not signed: sign it with `toolgate policy build --signing-key KEY.pem`')
  const { signatures } = (parseJson(content) ?? {}) as { readonly signatures?: unknown }
  const [jws, ...more] = Array.isArray(signatures) ? (signatures as unknown[]) : []
  // what opa does, too: one signature over everything
  if (typeof jws !== 'string' || more.length > 0)
    throw new Error(`${SIGNATURES_FILE} must contain exactly one signature`)
  let payload: unknown
  try {
    payload = parseJson(await verify(jws))
  } catch (error) {
    throw new Error(`the signature of the bundle is not valid (${(error as Error).message})`)
  }
  const { files: listed } = (payload ?? {}) as { readonly files?: unknown }
  if (!Array.isArray(listed) || !listed.every(isSignedFile))
    throw new Error('the signature of the bundle does not list the signed files')
  return listed
}

function isSignedFile(value: unknown): value is SignedFile {
  const file = value as Partial<SignedFile> | null
  return typeof file?.name === 'string' && typeof file.hash === 'string'
}

/** Documents are hashed as what they mean, everything else byte by byte (OPA, bundle/hash.go). */
function hashOf(name: string, content: Uint8Array, algorithm: string): string {
  const base = name.slice(name.lastIndexOf('/') + 1)
  const structured = base === '.manifest' || base === 'data.json'
  const hash = createHash(algorithm)
  hash.update(structured ? canonical(JSON.parse(Buffer.from(content).toString('utf8'))) : content)
  return hash.digest('hex')
}

/** Sorted keys, no blanks, strings as Go's encoder writes them. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value === 'object' && value !== null) {
    const record = value as Record<string, unknown>
    const keys = Object.keys(record).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    return `{${keys.map(key => `${primitive(key)}:${canonical(record[key])}`).join(',')}}`
  }
  return primitive(value)
}

function primitive(value: unknown): string {
  return JSON.stringify(value).replace(/[\u2028\u2029]/g, one => `\\u${one.charCodeAt(0).toString(16)}`)
}
