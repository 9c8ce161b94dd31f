/** Reads `AUTH_ISSUER`: an address, nothing for the embedded provider, or the word that says there is none. It asks no provider. */
import type { Reader } from './reader.ts'

/** No identity provider at all: only API keys are taken, and the documents about the provider are answered 503. */
export const NO_PROVIDER = 'none'

/** @returns the address, `NO_PROVIDER`, or undefined when it is not set */
export function readIssuer(read: Reader): string | undefined {
  return read.url('AUTH_ISSUER', ['http:', 'https:'], NO_PROVIDER)
}
