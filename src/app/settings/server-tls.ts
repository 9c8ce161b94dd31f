/** Checks the certificates and the key of a listener. */
import type { Renewable } from '../../net/tls/client-tls.ts'
import type { ServerTls } from '../../net/tls/server-tls.ts'
import { checkCertificate, checkPair } from './client-tls.ts'
import type { Reader } from './reader.ts'

/** What was read; undefined where it is not set. */
type Given = { readonly [name in keyof ServerTls]: Renewable | undefined }

/**
 * Adds the faults of what was read.
 * @param prefix of the settings: `API` for API_CERT, API_KEY and API_CLIENT_CA
 * @returns undefined: plain HTTP
 */
export function checkServerTls(
  read: Reader,
  prefix: string,
  { cert, key, clientCa }: Given,
): ServerTls | undefined {
  if (cert === undefined) {
    for (const [name, value] of Object.entries({ KEY: key, CLIENT_CA: clientCa }))
      if (value !== undefined)
        read.fault(
          `${prefix}_${name}`,
          `is set without ${prefix}_CERT.`,
          `Set ${prefix}_CERT too, or unset ${prefix}_${name}.`,
        )
    return undefined
  }
  if (checkCertificate(read, `${prefix}_CERT`, cert.text)) checkPair(read, prefix, cert.text, key?.text)
  checkCertificate(read, `${prefix}_CLIENT_CA`, clientCa?.text)
  return key === undefined ? undefined : { cert, key, clientCa }
}
