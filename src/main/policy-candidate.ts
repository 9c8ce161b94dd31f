/** Wires the candidate bundle that decides beside the live one (`POLICY_SHADOW`), and its promotion. It decides nothing. */
import { rename, writeFile } from 'node:fs/promises'
import type { Decision, PolicyInput } from '../policy/engine.ts'
import { fileSource } from '../policy/live/file-source.ts'
import { type LivePolicy, type LivePolicyOptions, loadBundle } from '../policy/live/live-policy.ts'
import { ShadowPolicy, type ShadowStatus } from '../policy/live/shadow.ts'
import { watchSource } from '../policy/live/source.ts'
import type { Ground } from './ground.ts'

export interface Candidate {
  observe(input: PolicyInput, decision: Decision): void
  readonly status: ShadowStatus | undefined
  /** Why there is none that could decide. */
  readonly fault: string | undefined
  /** @returns why it was not promoted; undefined when it now serves */
  promote(): Promise<string | undefined>
}

/** undefined where no candidate is set. */
export function openCandidate(
  { settings, closers, metrics }: Ground,
  live: LivePolicy | undefined,
  options: LivePolicyOptions,
): Candidate | undefined {
  const { shadow: path, pollMs, maxFlips, bundle: liveBundle } = settings.policy
  if (path === undefined || live === undefined) return undefined
  let shadow: ShadowPolicy | undefined
  let bundle: Uint8Array | undefined
  let fault: string | undefined

  async function take(archive: Uint8Array): Promise<void> {
    // a changed candidate is another one: nothing that was counted before speaks for it
    shadow?.close()
    shadow = bundle = undefined
    shadow = new ShadowPolicy((await loadBundle(archive, options)).policy)
    bundle = archive
    fault = undefined
  }
  const source = fileSource(path)
  const watching = watchSource(source, pollMs, take, reason => {
    fault = reason
  })
  closers.add('candidate policy', async () => {
    await watching.stop()
    shadow?.close()
  })
  metrics.gauge(
    'platform_policy_shadow_compared',
    'Decisions that the candidate policy made beside the live one.',
    () => shadow?.status.compared ?? 0,
  )
  metrics.gauge(
    'platform_policy_shadow_flips',
    'Decisions of the candidate policy that came out otherwise.',
    () => shadow?.status.flipped ?? 0,
  )

  return {
    observe: (input, decision) => shadow?.observe(input, decision),
    get status() {
      return shadow?.status
    },
    get fault() {
      return fault
    },
    async promote() {
      if (shadow === undefined || bundle === undefined)
        return `There is no candidate: ${fault ?? 'it is not read yet'}.`
      const hindrance = hindranceOf(shadow.status, maxFlips)
      if (hindrance !== undefined) return hindrance
      if (/^https?:/.test(liveBundle))
        return `The live bundle comes from an address; put revision ${shadow.status.revision} there.`
      // the file first: what serves must also serve after a restart
      await writeFile(`${liveBundle}.promoted`, bundle)
      await rename(`${liveBundle}.promoted`, liveBundle)
      return (await live.offer(bundle)) === 'rejected' ? live.status.fault : undefined
    },
  }
}

function hindranceOf({ compared, flipped, failed }: ShadowStatus, maxFlips: number): string | undefined {
  if (compared === 0) return 'The candidate has not been compared with a single decision yet.'
  if (failed > 0) return `The candidate could not make ${failed} decisions.`
  if (flipped > maxFlips)
    return `${flipped} of ${compared} decisions would come out otherwise, more than POLICY_MAX_FLIPS (${maxFlips}).`
  return undefined
}
