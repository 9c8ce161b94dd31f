/** Where console and portal of a deployment are, for `GET /` and for the text of a start. */
import type { Pages } from '../../net/server/pages.ts'
import type { Settings } from '../settings.ts'

/** @param base of the listener that serves them: its address without trailing slash, or `.` for references relative to its root */
export function pagesAt(base: string, settings: Settings): Pages {
  return {
    ...(settings.console.enabled ? { console: `${base}/console/` } : undefined),
    ...(settings.portal.enabled && settings.role !== 'gateway' ? { portal: `${base}/portal/` } : undefined),
  }
}

/** For the gateway's root. In production it does not name the control plane, which may be for the operators alone. */
export function gatewayPages(settings: Settings, apiUrl: string): Pages {
  if (settings.role === 'gateway') return pagesAt('.', settings)
  return settings.nodeEnv === 'production' ? {} : pagesAt(apiUrl, settings)
}
