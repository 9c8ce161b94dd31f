/** Reads where a gateway serves its pages for people, and which proxied documents share the origin of the gateway. */
import { isIP } from 'node:net'
import { hostOf } from '../../base/bare-host.ts'
import type { Reader } from './reader.ts'

const PREFIX = /^\/t\/[^/]+(?:\/[^/]+)*$/

/** @param gatewayUrl public address of the gateway, when it is configured */
export function readPages(read: Reader, gatewayUrl: string | undefined) {
  const url = read.url('PAGES_URL')
  const host = url === undefined ? '' : hostOf(url)
  if (isIP(host) !== 0 || host === hostOf(gatewayUrl ?? 'http://localhost'))
    read.fault(
      'PAGES_URL',
      `has the host ${host}, under which the gateway serves APIs: proxied pages would share the origin or the cookies of console and connections.`,
      'Use another host name that leads to the gateway, such as "https://pages.example.com".',
    )
  const unsandboxedApis = read.list('UNSANDBOXED_APIS', '')
  for (const prefix of unsandboxedApis) {
    if (!PREFIX.test(prefix))
      read.fault(
        'UNSANDBOXED_APIS',
        `contains "${prefix}", which is not the path of an API on the gateway.`,
        'List paths such as "/t/acme/docs", without a slash at the end.',
      )
  }
  return {
    /** Public address of console and connections of a gateway; undefined: see `pagesUrlOf`. */
    url,
    /** Paths of APIs whose documents may run scripts in the origin of the gateway. */
    unsandboxedApis,
  }
}
