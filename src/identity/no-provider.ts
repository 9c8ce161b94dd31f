/** The token verifier of a deployment without identity provider: it refuses tokens. */
import { refuse } from '../model/refusal.ts'
import type { TokenVerifier } from './verifier.ts'

export const NO_TOKENS: TokenVerifier = Object.freeze({
  verify: () => refuse('token_unknown_key'),
  ready: true,
  clearCache: () => 0,
  close() {},
})
