/** The interfaces for the verification of tokens and API keys. Types only. */
import type { Principal } from '../model/principal.ts'
import type { Refusal } from '../model/refusal.ts'

export interface TokenVerifier {
  /**
   * Verifies a bearer token (the part after `Bearer `). A cached token is verified synchronously.
   * Never throws and never rejects: an invalid token yields a Refusal, and so does one that cannot be verified now.
   */
  verify(token: string, nowMs: number): Principal | Refusal | Promise<Principal | Refusal>
  /** True once the provider's keys have been loaded at least once (`/ready`); always without a provider. */
  readonly ready: boolean
  /** As the discovery document of the issuer names it; undefined: not read yet, or there is none. */
  readonly tokenEndpoint?: string | undefined
  /** Evicts the verified tokens that are cached; returns how many there were. */
  clearCache(): number
  close(): void
}

export interface ApiKeyVerifier {
  /** Verifies `tgk_<8 public>_<32 secret>`. */
  verify(key: string, nowMs: number): Principal | Refusal | Promise<Principal | Refusal>
  clearCache(): number
}
