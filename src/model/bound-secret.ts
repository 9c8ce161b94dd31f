/** Secrets of backends with the hosts to which they may be sent. */
import type { BackendAuthentication } from './tool.ts'
import type { KeyReference } from './tool-set.ts'

export interface BoundSecret {
  readonly value: string
  /** In lower case: `host` at every port, `host:port`, `*.domain` for all names below it; undefined: the secret names none. */
  readonly hosts?: readonly string[]
}

/** Hosts of a key of the secret of a tenant, none when it names none; undefined: this process does not know the secret. */
export type HostsOfSecret = (tenantName: string, key: string) => Promise<readonly string[] | undefined>

/** The key of the same secret that names the hosts of a key. */
export function hostsKeyOf(key: string): string {
  return `${key}.hosts`
}

const HOST = /^(?:\*\.)?(?:\[[0-9a-f:.]+\]|[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(?::\d{1,5})?$/

/**
 * @param value without its trailing line break
 * @param listed hosts, separated by white space or commas; undefined: the secret has no such key
 * @throws Error for an entry that is not a host
 */
export function boundSecret(
  { name, key }: KeyReference,
  value: string,
  listed: string | undefined,
): BoundSecret {
  const text = value.replace(/\r?\n$/, '')
  if (listed === undefined) return { value: text }
  const hosts = listed
    .toLowerCase()
    .split(/[\s,]+/)
    .filter(Boolean)
  const wrong = hosts.find(host => !HOST.test(host))
  if (wrong !== undefined)
    throw new Error(
      `the key ${hostsKeyOf(key)} of the secret ${name} contains ${JSON.stringify(wrong.slice(0, 100))}, which is not a host: write api.example.com, api.example.com:8443 or *.example.com`,
    )
  return { value: text, hosts }
}

/** The end of a sentence about the field `secret`; undefined: a secret of these hosts may be sent to all the addresses. */
export function hostsFault(
  hosts: readonly string[] | undefined,
  addresses: readonly string[],
): string | undefined {
  const outside = hosts && addresses.find(address => !hosts.some(host => covers(host, new URL(address))))
  return outside === undefined
    ? undefined
    : `may not be sent to ${new URL(outside).host}. Name this host in the key of the secret that ends with ".hosts", or correct the address`
}

/** Why the gateway may not authenticate so at an address; undefined: it may. */
export function bindingFault(
  { hosts, oauth }: Pick<BackendAuthentication, 'hosts' | 'oauth'>,
  address: string,
): string | undefined {
  // a client of OAuth sends its secret to its authorization server, too
  const addresses = [address, oauth?.tokenUrl, oauth?.revocationUrl].filter(url => url !== undefined)
  const fault = hostsFault(hosts, addresses)
  return fault && `the secret ${fault}`
}

function covers(host: string, { hostname, host: withPort, protocol, port }: URL): boolean {
  const at = port === '' ? `${hostname}:${protocol === 'https:' ? 443 : 80}` : withPort
  const shown = /:\d+$/.test(host) ? at : hostname
  return host.startsWith('*.') ? shown.endsWith(host.slice(1)) : shown === host
}
