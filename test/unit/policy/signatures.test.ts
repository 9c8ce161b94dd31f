/** What a valid signature may say of the files: its hash algorithms and its shape. The signature itself is verified elsewhere. */
import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { SIGNATURES_FILE, verifySignatures } from '../../../src/policy/signatures.ts'

const CONTENT = Buffer.from('module')
const hashed = (algorithm: string) => createHash(algorithm).update(CONTENT).digest('hex')

/** Verifies one file against the payload of a signature that is valid. */
function verify(payload: unknown, signatures = '{"signatures":["jws"]}'): Promise<void> {
  const files = new Map<string, Uint8Array>([
    ['policy.wasm', CONTENT],
    [SIGNATURES_FILE, Buffer.from(signatures)],
  ])
  const text = typeof payload === 'string' ? payload : JSON.stringify(payload)
  return verifySignatures(files, async () => Buffer.from(text))
}

describe('signed files', () => {
  it.each([
    ['SHA-224', 'sha224'],
    ['SHA-256', 'sha256'],
    ['SHA-384', 'sha384'],
    ['SHA-512', 'sha512'],
    ['SHA-512-224', 'sha512-224'],
    ['SHA-512-256', 'sha512-256'],
  ])('pass with the hash %s', async (algorithm, name) => {
    await verify({ files: [{ name: 'policy.wasm', hash: hashed(name), algorithm }] })
    await expect(
      verify({ files: [{ name: 'policy.wasm', hash: hashed('md5'), algorithm }] }),
    ).rejects.toThrow('differs from the signed content')
  })

  it('are hashed by SHA-256 when the signature names no algorithm, and may begin with a slash', async () => {
    await verify({ files: [{ name: '/policy.wasm', hash: hashed('sha256') }] })
  })

  it('do not pass with a hash that is broken', async () => {
    await expect(
      verify({ files: [{ name: 'policy.wasm', hash: hashed('md5'), algorithm: 'MD5' }] }),
    ).rejects.toThrow(/the hash algorithm in the signature for ".*" is not supported/)
  })

  it.each([
    ['is not JSON', 'nonsense'],
    ['is null', 'null'],
    ['has no files', {}],
    ['has a file without name', { files: [{ hash: hashed('sha256') }] }],
    ['has a file without hash', { files: [{ name: 'policy.wasm' }] }],
    ['has an empty entry', { files: [null] }],
  ])('do not pass when what was signed %s', async (_, payload) => {
    await expect(verify(payload)).rejects.toThrow(
      'the signature of the bundle does not list the signed files',
    )
  })

  it.each(['nonsense', 'null', '{"signatures":[]}', '{"signatures":"jws"}', '{"signatures":[1]}'])(
    'do not pass when the list of signatures is %s',
    async signatures => {
      await expect(verify({ files: [] }, signatures)).rejects.toThrow('must contain exactly one signature')
    },
  )
})
