/** Owns the candidate bundle, which is compared with the live one, and its promotion. It decides about no call. */
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { SerialQueue } from '../../base/async/serial-queue.ts'
import { readBundle } from '../bundle.ts'
import { isRemote } from './bundle-source.ts'
import type { BundleDistribution } from './distribution.ts'
import { CANDIDATE } from './follower.ts'
import { type LivePolicy, type LivePolicyOptions, loadBundle } from './live-policy.ts'
import { putInForce } from './put-in-force.ts'
import { joinedStatus, type ShadowStatus } from './shadow.ts'
import { type BundleSource, watchSource } from './source.ts'

/** The reason for refusing a promotion without a candidate. */
export const NO_CANDIDATE =
  'The gateway has no policy candidate. Set POLICY_SHADOW, or create a candidate in the policy editor of the console.'

export interface Candidate {
  /** For operators: of all planes and threads together; undefined when there is none. */
  status(): Promise<object | undefined>
  /** Takes the place of the candidate before. @returns why it cannot be compared; undefined when it is */
  offer(bundle: Uint8Array): Promise<string | undefined>
  /** @returns why a promotion would be refused; undefined when it would not @param revision absent: whichever is the candidate */
  obstacle(revision?: string): Promise<string | undefined>
  /** @returns why it was not promoted; undefined when it now serves */
  promote(revision?: string): Promise<string | undefined>
  /** Ends the watching of its source. */
  stop(): void
}

interface CandidateParts {
  readonly live: LivePolicy
  readonly options: LivePolicyOptions
  readonly distribution: BundleDistribution
  /** Where it is kept: `POLICY_SHADOW`, or a file in `DATA_DIR`. */
  readonly path: string
  /** `POLICY_SHADOW`; undefined: `path` is read once, and written by `offer`. */
  readonly source: BundleSource | undefined
  readonly pollMs: number
  /** Decisions that may differ from those of the live bundle. */
  readonly maxFlips: number
  /** `POLICY_BUNDLE`. */
  readonly liveFile: string
}

export function openCandidate(parts: CandidateParts): Candidate {
  const { live, options, distribution, path, source, pollMs, maxFlips, liveFile } = parts
  const changes = new SerialQueue()
  let bundle: Uint8Array | undefined
  /** For the newest archive. */
  let refused: string | undefined
  /** Why the file or the address cannot be read. */
  let unread: string | undefined
  const fault = (): string | undefined => unread ?? refused

  async function leave(): Promise<void> {
    bundle = undefined
    if (distribution.isActive(CANDIDATE))
      await distribution.swap({ slot: CANDIDATE, bundle: undefined }, () => {})
  }
  async function takeNow(archive: Uint8Array): Promise<boolean> {
    // written by `offer`, and read again from its file
    if (bundle !== undefined && Buffer.compare(bundle, archive) === 0) return true
    try {
      // a changed candidate starts from zero: earlier comparisons were made with another bundle
      await leave()
      const { policy } = await loadBundle(archive, options)
      policy.close()
      await distribution.swap({ slot: CANDIDATE, bundle: archive }, () => {
        bundle = archive
      })
      refused = undefined
      return true
    } catch (error) {
      refused = (error as Error).message
      return false
    }
  }
  const take = (archive: Uint8Array): Promise<boolean> => changes.run(() => takeNow(archive))
  if (source === undefined) void readFile(path).then(take, () => {})
  const watching =
    source &&
    watchSource(source, pollMs, take, reason => {
      unread = reason
    })

  async function compare(): Promise<ShadowStatus | undefined> {
    const asked = await Promise.allSettled(distribution.members.map(async member => member.shadow()))
    return joinedStatus(asked.flatMap(one => (one.status === 'fulfilled' ? (one.value ?? []) : [])))
  }
  async function obstacle(revision?: string): Promise<string | undefined> {
    const candidate = bundle
    if (source === undefined && candidate === undefined && fault() === undefined) return NO_CANDIDATE
    const status = await compare()
    if (candidate === undefined || status === undefined)
      return `The policy candidate cannot be used: ${fault() ?? 'its bundle has not been loaded yet'}.`
    if (revision !== undefined && readBundle(candidate).revision !== revision)
      return `The policy candidate is now revision ${status.revision}, not ${revision}. Check how revision ${status.revision} compares with the live bundle before you promote the candidate.`
    return obstacleOf(status, maxFlips)
  }

  return {
    async status() {
      if (source === undefined && bundle === undefined && fault() === undefined) return undefined
      return { ...(await compare()), max_flips: maxFlips, fault: fault() }
    },
    // with its file in the same turn: a promotion removes the file of what it promotes
    offer: archive =>
      changes.run(async () => {
        if (isRemote(path))
          return `POLICY_SHADOW is a URL: publish revision ${readBundle(archive).revision} at that URL, or unset POLICY_SHADOW.`
        try {
          await mkdir(dirname(path), { recursive: true })
          await writeFile(`${path}.part`, archive)
          await rename(`${path}.part`, path)
        } catch (error) {
          return `The file of the policy candidate cannot be written: ${(error as Error).message}`
        }
        return (await takeNow(archive)) ? undefined : refused
      }),
    obstacle,
    // no other candidate takes the place of the one that is promoted meanwhile
    promote: revision =>
      changes.run(async () => {
        const found = await obstacle(revision)
        if (found !== undefined) return found
        const failed = await putInForce(bundle!, { live, options, file: liveFile })
        if (failed !== undefined || source !== undefined) return failed
        // it would be compared with itself
        await leave()
        await rm(path, { force: true })
        return undefined
      }),
    stop: () => watching?.stop(),
  }
}

function obstacleOf({ compared, flipped, failed }: ShadowStatus, maxFlips: number): string | undefined {
  if (compared === 0)
    return 'The policy candidate has not been compared with the live bundle yet. Retry after the gateway has decided some calls.'
  if (failed > 0)
    return `The evaluation of the policy candidate failed in ${failed} of ${compared + failed} decisions. Fix the policy and create a new candidate.`
  if (flipped > maxFlips)
    return `With the candidate, ${flipped} of ${compared} decisions would change; POLICY_MAX_FLIPS allows ${maxFlips}.`
  return undefined
}
