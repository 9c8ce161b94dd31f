/** Signed bundles, signed by the real `opa sign`: what was signed passes, also as the same JSON in another form, and nothing else does. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { jwsVerifier } from '../../../src/identity/verify-jws.ts'
import { unpack } from '../../../src/policy/archive.ts'
import { BUNDLE_LIMITS } from '../../../src/policy/bundle.ts'
import { SIGNATURES_FILE, verifySignatures } from '../../../src/policy/signatures.ts'
import { findOpa, OPA_VERSION, runProgram } from '../../../src/policy/workshop/opa.ts'
import { makeKeyPair } from '../../fixtures/key-pair.ts'
import { SHIPPED } from '../../fixtures/policy/inputs.ts'

const opa = await findOpa(fileURLToPath(new URL('../../../.tools/bin', import.meta.url)), process.env)
const missing = opa === undefined && process.env.REQUIRE_SERVICES !== '1'
const dir = mkdtempSync(join(tmpdir(), 'policy-signed-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

const kinds = {
  RS256: makeKeyPair('rsa'),
  ES256: makeKeyPair('ec'),
}
const publicPem = (kind: keyof typeof kinds) =>
  kinds[kind].publicKey.export({ type: 'spki', format: 'pem' }) as string

/** The shipped files, with odd text in data.json, signed. */
async function signed(kind: keyof typeof kinds): Promise<Map<string, Uint8Array>> {
  const files = unpack(readFileSync(SHIPPED), BUNDLE_LIMITS)
  files.set('data.json', Buffer.from('{"ü":"\u2028<&>\\b","b":[1,2.5,null,true],"a":{"z":1,"y":"\\u0007"}}'))
  const folder = mkdtempSync(join(dir, 'bundle-'))
  for (const [name, content] of files) writeFileSync(join(folder, name), content)
  const key = join(dir, `${kind}.pem`)
  writeFileSync(key, kinds[kind].privateKey.export({ type: 'pkcs8', format: 'pem' }))
  const args = ['sign', '--signing-key', key, '--signing-alg', kind, '--bundle', '.']
  const { exitCode, stderr } = await runProgram(opa!, args, { cwd: folder, env: process.env })
  if (exitCode !== 0) throw new Error(stderr)
  return new Map([...files, [SIGNATURES_FILE, readFileSync(join(folder, SIGNATURES_FILE))]])
}

describe.skipIf(missing)(`signatures by opa ${OPA_VERSION} (npm run policy:test installs it)`, () => {
  let files: Map<string, Uint8Array>
  const verify = jwsVerifier(publicPem('RS256'))
  beforeAll(async () => {
    if (opa === undefined) throw new Error(`opa ${OPA_VERSION} is neither on the PATH nor in .tools/bin`)
    files = await signed('RS256')
  })
  const changed = (change: (files: Map<string, Uint8Array>) => void) => {
    const copy = new Map(files)
    change(copy)
    return verifySignatures(copy, verify)
  }

  it('pass as they were made', async () => {
    await expect(verifySignatures(files, verify)).resolves.toBeUndefined()
    await expect(
      verifySignatures(await signed('ES256'), jwsVerifier(publicPem('ES256'))),
    ).resolves.toBeUndefined()
  })

  it('pass when a document says the same in another form', async () => {
    const data = JSON.parse(Buffer.from(files.get('data.json')!).toString())
    await expect(
      changed(copy => copy.set('data.json', Buffer.from(JSON.stringify(data, undefined, 2)))),
    ).resolves.toBeUndefined()
  })

  it.each([
    [
      'a changed module',
      (copy: Map<string, Uint8Array>) => copy.set('policy.wasm', Buffer.from('x')),
      /"policy.wasm" differs from the signed content/,
    ],
    [
      'changed data',
      (copy: Map<string, Uint8Array>) => copy.set('data.json', Buffer.from('{}')),
      /"data.json" differs from the signed content/,
    ],
    [
      'a file more',
      (copy: Map<string, Uint8Array>) => copy.set('more.json', Buffer.from('{}')),
      /"more.json" is not signed/,
    ],
    [
      'a file less',
      (copy: Map<string, Uint8Array>) => copy.delete('data.json'),
      /"data.json" was signed, but is missing/,
    ],
    [
      'no signature',
      (copy: Map<string, Uint8Array>) => copy.delete(SIGNATURES_FILE),
      /the bundle is not signed/,
    ],
    [
      'nonsense for a signature',
      (copy: Map<string, Uint8Array>) => copy.set(SIGNATURES_FILE, Buffer.from('{"signatures":["a.b.c"]}')),
      /the signature of the bundle is not valid/,
    ],
    [
      'two signatures',
      (copy: Map<string, Uint8Array>) => copy.set(SIGNATURES_FILE, Buffer.from('{"signatures":["a","b"]}')),
      /must contain exactly one signature/,
    ],
  ])('do not pass with %s', async (_, change, reason) => {
    await expect(changed(copy => void change(copy))).rejects.toThrow(reason)
  })

  it('do not pass under another key, nor one that the key itself would be the secret of', async () => {
    const other = makeKeyPair('rsa').publicKey
    const pem = other.export({ type: 'spki', format: 'pem' }) as string
    await expect(verifySignatures(files, jwsVerifier(pem))).rejects.toThrow(
      /the signature of the bundle is not valid/,
    )
    const { SignJWT } = await import('jose')
    const forged = await new SignJWT({ files: [] })
      .setProtectedHeader({ alg: 'HS256' })
      .sign(Buffer.from(publicPem('RS256')))
    await expect(
      changed(copy => copy.set(SIGNATURES_FILE, Buffer.from(JSON.stringify({ signatures: [forged] })))),
    ).rejects.toThrow(/the signature of the bundle is not valid/)
  })
})

describe('the key', () => {
  it('must be a public one', () => {
    expect(() => jwsVerifier('nonsense')).toThrow()
    expect(() =>
      jwsVerifier(kinds.ES256.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string),
    ).toThrow(/private key/)
  })
})
