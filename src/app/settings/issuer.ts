/** Reads `AUTH_ISSUER`: the address of an identity provider, or the word for none. */
import type { Reader } from './reader.ts'

/** Without identity provider: only API keys are accepted, and the OAuth documents return 503. */
export const NO_PROVIDER = 'none'

/** @returns the address, `NO_PROVIDER`, or undefined when it is not set */
export function readIssuer(read: Reader): string | undefined {
  return read.url('AUTH_ISSUER', ['http:', 'https:'], NO_PROVIDER)
}
