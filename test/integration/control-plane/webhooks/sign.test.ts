/** Signatures: the specified one by its definition, the Standard Webhooks one by that project's own library. */
import { execFileSync } from 'node:child_process'
import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import { platformSignature, standardSignature } from '../../../../src/control-plane/webhooks/attempt.ts'

const nowSecs = () => Math.floor(Date.now() / 1000)
const headers = (id: string, at: number, signature: string) => ({
  'webhook-id': id,
  'webhook-timestamp': String(at),
  'webhook-signature': signature,
})

describe('the specified signature', () => {
  it('is HMAC-SHA256 in hex, as RFC 4231 §4.3 has it', () => {
    expect(platformSignature('Jefe', Buffer.from('what do ya want for nothing?'))).toBe(
      'sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
    )
  })

  it('agrees with openssl over bytes that are not UTF-8', () => {
    const body = Buffer.from([0, 255, 13, 10, 0xc3, 0x28, 34])
    const secret = 'thirty-two characters of a secret'
    const reported = execFileSync('openssl', ['dgst', '-sha256', '-hmac', secret], { input: body }).toString()
    expect(platformSignature(secret, body)).toBe(`sha256=${reported.trim().split('= ')[1]}`)
  })
})

describe('the Standard Webhooks signature', () => {
  it('is verified by the library, for secrets of both forms', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 24, maxLength: 64 }),
        fc.string({ minLength: 32, unit: 'grapheme-ascii' }).filter(text => !text.startsWith('whsec_')),
        fc.json(),
        (bytes, plain, body) => {
          const at = nowSecs()
          const encoded = `whsec_${Buffer.from(bytes).toString('base64')}`
          const signature = standardSignature([encoded, plain], 'dlv_1', at, Buffer.from(body))
          expect(new Webhook(encoded).verify(body, headers('dlv_1', at, signature))).toEqual(JSON.parse(body))
          const raw = new Webhook(plain, { format: 'raw' })
          expect(raw.verify(body, headers('dlv_1', at, signature))).toEqual(JSON.parse(body))
        },
      ),
      { numRuns: 100 },
    )
  })

  it('is refused by the library for another id, time, body or secret', () => {
    const at = nowSecs()
    const secret = 'a secret of more than thirty-two characters'
    const library = new Webhook(secret, { format: 'raw' })
    const signature = standardSignature([secret], 'dlv_1', at, Buffer.from('{}'))
    library.verify('{}', headers('dlv_1', at, signature))
    expect(() => library.verify('{ }', headers('dlv_1', at, signature))).toThrow()
    expect(() => library.verify('{}', headers('dlv_2', at, signature))).toThrow()
    expect(() => library.verify('{}', headers('dlv_1', at - 1, signature))).toThrow()
    const other = standardSignature([`${secret}!`], 'dlv_1', at, Buffer.from('{}'))
    expect(() => library.verify('{}', headers('dlv_1', at, other))).toThrow()
  })
})
