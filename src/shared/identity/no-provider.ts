/** The verifier of a deployment without identity provider: API keys work, no token does. It asks nobody. */
import { refuse } from '../call/refusal.ts'
import type { TokenVerifier } from './verifier.ts'

export const NO_TOKENS: TokenVerifier = Object.freeze({
  verify: () => refuse('token_unknown_key'),
  ready: true,
  forget: () => 0,
  close() {},
})
