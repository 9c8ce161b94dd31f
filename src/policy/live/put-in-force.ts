/** Puts a bundle in force: tries it, writes it to the file of `POLICY_BUNDLE` and offers it as the live bundle. */
import { rename, writeFile } from 'node:fs/promises'
import { readBundle } from '../bundle.ts'
import { isRemote } from './bundle-source.ts'
import { type LivePolicy, type LivePolicyOptions, loadBundle } from './live-policy.ts'

export interface InForceParts {
  readonly live: LivePolicy
  readonly options: LivePolicyOptions
  /** `POLICY_BUNDLE`. */
  readonly file: string
}

/** @returns why it is not in force; undefined when it is */
export async function putInForce(
  bundle: Uint8Array,
  { live, options, file }: InForceParts,
): Promise<string | undefined> {
  const before = live.current.bundle
  try {
    if (isRemote(file))
      return `POLICY_BUNDLE is a URL: publish revision ${readBundle(bundle).revision} at that URL.`
    // what cannot be served must not be in the file at the next start
    const { policy } = await loadBundle(bundle, options)
    policy.close()
    await replace(file, bundle)
  } catch (error) {
    return `The bundle cannot become the live bundle: ${(error as Error).message}`
  }
  if ((await live.offer(bundle)) !== 'rejected') return undefined
  const { fault } = live.status
  await replace(file, before).catch(() => {})
  return fault
}

/** The file first: what is in force must survive a restart. */
async function replace(file: string, bundle: Uint8Array): Promise<void> {
  await writeFile(`${file}.promoted`, bundle)
  await rename(`${file}.promoted`, file)
}
