/** Encrypts and decrypts confidential texts that other code stores. */
import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto'

/** Encrypts and decrypts with one key. */
export interface Sealer {
  /** Identifies the key without revealing it; stored beside the sealed text. */
  readonly keyId: string
  /** @param place such as a row's id: text that was moved to another place cannot be opened */
  seal(text: string, place: string): string
  /** @throws Error when the text was sealed with another key or for another place, or has been changed */
  open(sealed: string, place: string): string
}

const NONCE_BYTES = 12
const TAG_BYTES = 16

/** AES-256-GCM. @param secret at least 128 bits of randomness */
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

/** undefined where `open` throws. */
export function tryOpen(sealer: Sealer, sealed: string, place: string): string | undefined {
  try {
    return sealer.open(sealed, place)
  } catch {
    return undefined
  }
}

/** For a store that is opened without a key: sealing and opening throw. */
export const NO_SEALER: Sealer = Object.freeze({ keyId: '', seal: missingKey, open: missingKey })

function missingKey(): never {
  throw new Error('the database was opened without a key that encrypts secrets: set SECRETS_KEY')
}
