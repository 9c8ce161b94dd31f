/** Owns the candidate bundle (`POLICY_SHADOW`), which is compared with the live one, and its promotion. It decides nothing. */
import { rename, writeFile } from 'node:fs/promises'
import type { BundleDistribution } from '../../shared/policy/live/distribution.ts'
import { fileSource } from '../../shared/policy/live/file-source.ts'
import { CANDIDATE } from '../../shared/policy/live/follower.ts'
import { type LivePolicy, type LivePolicyOptions, loadBundle } from '../../shared/policy/live/live-policy.ts'
import { joinedStatus, type ShadowStatus } from '../../shared/policy/live/shadow.ts'
import { watchSource } from '../../shared/policy/live/source.ts'
import type { AppContext } from './app-context.ts'

/** The reason for refusing a promotion without a candidate. */
export const NO_CANDIDATE = 'No candidate is configured: set POLICY_SHADOW.'

export interface Candidate {
  /** For operators: of all planes and threads together. */
  status(): Promise<object>
  /** @returns why it was not promoted; undefined when it now serves */
  promote(): Promise<string | undefined>
}

export interface CandidateParts {
  readonly context: AppContext
  readonly live: LivePolicy
  readonly options: LivePolicyOptions
  readonly distribution: BundleDistribution
}

/** undefined where no candidate is set. */
export function openCandidate({
  context,
  live,
  options,
  distribution,
}: CandidateParts): Candidate | undefined {
  const { settings, closers } = context
  const { shadow: path, pollMs, maxFlips, bundle: liveBundle } = settings.policy
  if (path === undefined) return undefined
  let bundle: Uint8Array | undefined
  let fault: string | undefined

  async function take(archive: Uint8Array): Promise<boolean> {
    // a changed candidate starts from zero: earlier comparisons were made with another bundle
    bundle = undefined
    try {
      if (distribution.isActive(CANDIDATE))
        await distribution.swap({ slot: CANDIDATE, bundle: undefined }, () => {})
      const { policy } = await loadBundle(archive, options)
      policy.close()
      await distribution.swap({ slot: CANDIDATE, bundle: archive }, () => {
        bundle = archive
      })
      fault = undefined
      return true
    } catch (error) {
      fault = (error as Error).message
      return false
    }
  }
  const source = fileSource(path)
  const watching = watchSource(source, pollMs, take, reason => {
    fault = reason
  })
  closers.add('candidate policy', () => watching.stop())

  async function compared(): Promise<ShadowStatus | undefined> {
    const asked = await Promise.allSettled(distribution.members.map(async member => member.shadow()))
    return joinedStatus(asked.flatMap(one => (one.status === 'fulfilled' ? (one.value ?? []) : [])))
  }

  return {
    status: async () => ({ ...(await compared()), max_flips: maxFlips, fault }),
    async promote() {
      const promoted = bundle
      const status = await compared()
      if (promoted === undefined || status === undefined)
        return `The candidate cannot be used: ${fault ?? 'it has not been read yet'}.`
      const obstacle = obstacleOf(status, maxFlips)
      if (obstacle !== undefined) return obstacle
      if (/^https?:/.test(liveBundle))
        return `POLICY_BUNDLE is a URL; publish revision ${status.revision} there.`
      // the file first: the promoted bundle must survive a restart
      await writeFile(`${liveBundle}.promoted`, promoted)
      await rename(`${liveBundle}.promoted`, liveBundle)
      return (await live.offer(promoted)) === 'rejected' ? live.status.fault : undefined
    },
  }
}

function obstacleOf({ compared, flipped, failed }: ShadowStatus, maxFlips: number): string | undefined {
  if (compared === 0) return 'The candidate has not been compared with a single decision yet.'
  if (failed > 0) return `The candidate could not make ${failed} decisions.`
  if (flipped > maxFlips)
    return `${flipped} of ${compared} decisions would come out otherwise, more than POLICY_MAX_FLIPS (${maxFlips}).`
  return undefined
}
