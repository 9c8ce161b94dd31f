/** Opens the source of a policy bundle by its address, a file or a URL. */

import { presentText } from '../../net/tls/client-tls.ts'
import { fileSource } from '../../policy/live/file-source.ts'
import { httpSource } from '../../policy/live/http-source.ts'
import type { BundleSource } from '../../policy/live/source.ts'
import { isRemote } from '../settings/policy.ts'
import type { AppContext } from './app-context.ts'

export function bundleSource(
  address: string,
  { egress, settings }: Pick<AppContext, 'egress' | 'settings'>,
): BundleSource {
  const { token } = settings.policy
  if (!isRemote(address)) return fileSource(address)
  return httpSource(address, egress, token && (() => presentText(token)))
}
