/** Runs the work of a request with an `Idempotency-Key`, or returns the stored response of the first one. */
import { createCipheriv, createDecipheriv, createHash, randomBytes, scrypt } from 'node:crypto'
import { promisify } from 'node:util'
import { readJson, writeJson } from '../../../base/json/exact-number.ts'
import type { Principal } from '../../../model/principal.ts'
import type { Transaction } from '../../store/store.ts'
import type { EndpointResult, SuccessStatus } from './endpoint.ts'
import { conflict, invalidField } from './problem.ts'

/** Visible ASCII (draft-ietf-httpapi-idempotency-key-header), long enough for any UUID. */
const KEY_PATTERN = /^[\x21-\x7e]{1,255}$/
const deriveKey = promisify(scrypt) as (secret: string, salt: Buffer, length: number) => Promise<Buffer>

interface RepeatableRequest {
  readonly key: string
  readonly principal: Principal
  readonly method: string
  readonly path: string
  /** With `?`; '' without one. */
  readonly query: string
  readonly bodyText: string
  /** Status of the response when the request succeeds. */
  readonly status: SuccessStatus
}

/**
 * Runs `work` once for a key. A repetition gets the first response; errors are not stored.
 * @throws Problem validation_error for an invalid key, conflict when the key was used with another query or body
 */
export async function onlyOnce(
  tx: Transaction,
  request: RepeatableRequest,
  work: () => Promise<EndpointResult>,
): Promise<{ readonly response: EndpointResult; readonly replayed: boolean }> {
  if (!KEY_PATTERN.test(request.key)) {
    throw invalidField('Idempotency-Key', 'must be 1 to 255 printable ASCII characters without spaces.')
  }
  const { principal, method, path, key, status } = request
  const caller = [principal.kind, principal.subject, principal.consumer, principal.tenant ?? null]
  const recordKey = digest(JSON.stringify([tx.scope, caller, method, path, key]))
  const requestHash = digest(
    request.query === '' ? request.bodyText : `${request.query}\n${request.bodyText}`,
  )
  const cached = await tx.idempotency.claim(recordKey, requestHash)
  if (cached === undefined) {
    const response = await work()
    const text = writeJson(response)
    const body = response.secret === true ? await seal(text, key) : text
    await tx.idempotency.settle({ key: recordKey, requestHash, status, body })
    return { response, replayed: false }
  }
  if (cached.requestHash !== requestHash) {
    throw conflict(
      'This Idempotency-Key was used with a different query or body. Send a new Idempotency-Key.',
      [
        {
          field: 'Idempotency-Key',
          message: 'was used with a different query or body within the last 24 hours.',
        },
      ],
    )
  }
  const text = cached.body.startsWith(SEALED) ? await open(cached.body, key) : cached.body
  return { response: readJson(text) as EndpointResult, replayed: true }
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/**
 * A response that contains an API key is stored encrypted with a key derived from the Idempotency-Key, which is itself stored only as
 * a digest: the database alone reveals no API key.
 */
const SEALED = 'sealed:'
const SALT_BYTES = 16
const NONCE_BYTES = 12
const TAG_BYTES = 16

async function seal(text: string, secret: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES)
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', await deriveKey(secret, salt, 32), nonce)
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return SEALED + Buffer.concat([salt, nonce, cipher.getAuthTag(), sealed]).toString('base64')
}

async function open(sealed: string, secret: string): Promise<string> {
  const bytes = Buffer.from(sealed.slice(SEALED.length), 'base64')
  const salt = bytes.subarray(0, SALT_BYTES)
  const nonce = bytes.subarray(SALT_BYTES, SALT_BYTES + NONCE_BYTES)
  const tagEnd = SALT_BYTES + NONCE_BYTES + TAG_BYTES
  const cipher = createDecipheriv('aes-256-gcm', await deriveKey(secret, salt, 32), nonce)
  cipher.setAuthTag(bytes.subarray(SALT_BYTES + NONCE_BYTES, tagEnd))
  return Buffer.concat([cipher.update(bytes.subarray(tagEnd)), cipher.final()]).toString('utf8')
}
