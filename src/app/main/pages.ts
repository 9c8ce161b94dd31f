/** Where the pages of a deployment are, for its listeners, for `GET /`, for links to users and for the text of a start. */
import type { Pages } from '../../net/server/pages.ts'
import type { Settings } from '../settings.ts'
import { localUrl } from './app-context.ts'

/** For operators and users of a gateway without an address for its pages. */
export const NO_PAGES =
  'This gateway does not serve its pages, on which users connect accounts and operators see calls: they must not have the origin of proxied APIs. Set PAGES_URL to an address with a separate host name that leads to this gateway.'

/**
 * Public address of console and connections of a gateway, without trailing slash; undefined: it serves none. On the machine of a developer the
 * host is one that browsers resolve themselves (RFC 6761 §6.3).
 * @param port of the gateway's listener
 */
export function pagesUrlOf({ gateway, pages }: Settings, port: number): string | undefined {
  if (pages.url !== undefined || gateway.url !== undefined) return pages.url
  return localUrl(gateway, port).replace('//', '//pages.')
}

/** @param base of the listener that serves them: its address without trailing slash, or `.` for references relative to its root */
export function pagesAt(base: string | undefined, settings: Settings): Pages {
  if (base === undefined) return {}
  return {
    ...(settings.console.enabled ? { console: `${base}/console/` } : undefined),
    ...(settings.portal.enabled && settings.role !== 'gateway' ? { portal: `${base}/portal/` } : undefined),
  }
}

/** For the root of a gateway. In production it does not name the control plane, which may be for the operators alone. */
export function gatewayPages(settings: Settings, port: number, apiUrl: string): Pages {
  if (settings.role === 'gateway') return pagesAt(pagesUrlOf(settings, port), settings)
  return settings.nodeEnv === 'production' ? {} : pagesAt(apiUrl, settings)
}
