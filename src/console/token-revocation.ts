/** Revokes the refresh tokens of ended sessions at the provider, again while that is unavailable. */
import { setTimeout as sleep } from 'node:timers/promises'
import { LoginFailure, type OAuthClient } from './oauth-client.ts'

/** Waits before the attempts. */
const ATTEMPTS_AFTER_MS = [0, 1_000, 5_000, 30_000, 120_000]
/** Tokens beyond get one attempt. */
const MAX_WAITING = 1_000

/** The provider has not revoked the token of a session that has ended here. */
export type ReportUnrevoked = (reason: string, isTriedAgain: boolean) => void

export class TokenRevocation {
  readonly #oauth: OAuthClient
  readonly #report: ReportUnrevoked
  #waiting = 0

  constructor(oauth: OAuthClient, report: ReportUnrevoked) {
    this.#oauth = oauth
    this.#report = report
  }

  /** Never rejects. */
  async revoke(client: string, refreshToken: string): Promise<void> {
    const waits = this.#waiting < MAX_WAITING ? ATTEMPTS_AFTER_MS : ATTEMPTS_AFTER_MS.slice(0, 1)
    this.#waiting++
    for (const [attempt, waitMs] of waits.entries()) {
      await sleep(waitMs, undefined, { ref: false })
      const failure = await this.#oauth.revoke(client, refreshToken).then(
        () => undefined,
        (error: Error) => error,
      )
      if (failure === undefined) break
      const isTriedAgain =
        failure instanceof LoginFailure && failure.isTransient && attempt + 1 < waits.length
      // providers may repeat what was sent
      const reason = failure.message.replaceAll(refreshToken, '…')
      if (attempt === 0 || !isTriedAgain) this.#report(reason, isTriedAgain)
      if (!isTriedAgain) break
    }
    this.#waiting--
  }
}
