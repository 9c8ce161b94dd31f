/** The interface of token and key verification. It verifies nothing itself: `jwks.ts` and `api-keys.ts` do. */
import type { Principal } from '../../model/principal.ts'
import type { Refusal } from '../call/refusal.ts'

export interface TokenVerifier {
  /**
   * Verifies a bearer token (the part after `Bearer `). A token seen before answers synchronously.
   * Never throws and never rejects: a token that is no good is a Refusal of the token_* kind.
   */
  verify(token: string, nowMs: number): Principal | Refusal | Promise<Principal | Refusal>
  /** True once the provider's keys have been loaded at least once (`/ready`). */
  readonly ready: boolean
  /** How many verified tokens are remembered; forgetting returns how many there were. */
  forget(): number
  close(): void
}

export interface ApiKeyVerifier {
  /** Verifies `tgk_<8 public>_<32 secret>`. */
  verify(key: string, nowMs: number): Principal | Refusal | Promise<Principal | Refusal>
  forget(): number
}
