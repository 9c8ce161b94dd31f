/** Encrypts what must be read again but not be found in the database: webhook secrets, and keys on their way out. It stores nothing. */
import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto'

/** Seals under one key; what another key sealed cannot be opened. */
export interface Sealer {
  /** Names the key and tells nothing of it; kept beside what was sealed. */
  readonly keyId: string
  /** @param place where it is kept, such as a row's id: sealed text that was moved elsewhere does not open */
  seal(text: string, place: string): string
  /** @throws Error when it was sealed under another key or for another place, or has been changed */
  open(sealed: string, place: string): string
}

const NONCE_BYTES = 12
const TAG_BYTES = 16

/** AES-256-GCM. @param secret any bytes with at least 128 bits of randomness in them */
export function createSealer(secret: string | Uint8Array): Sealer {
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'toolgate sealed columns', 32))
  const keyId = createHash('sha256').update('toolgate key id').update(key).digest('hex').slice(0, 16)
  return {
    keyId,
    seal(text, place) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', key, nonce)
      cipher.setAAD(Buffer.from(place))
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64')
    },
    open(sealed, place) {
      const bytes = Buffer.from(sealed, 'base64')
      const tagEnd = NONCE_BYTES + TAG_BYTES
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      })
      decipher.setAAD(Buffer.from(place))
      decipher.setAuthTag(bytes.subarray(NONCE_BYTES, tagEnd))
      return Buffer.concat([decipher.update(bytes.subarray(tagEnd)), decipher.final()]).toString('utf8')
    },
  }
}

/** For stores that hold no webhooks: says what is missing as soon as something is to be sealed. */
export const NO_SEALER: Sealer = Object.freeze({
  keyId: '',
  seal(): never {
    throw new Error('the store was opened without a key for secrets: set SECRETS_KEY')
  },
  open(): never {
    throw new Error('the store was opened without a key for secrets: set SECRETS_KEY')
  },
})
