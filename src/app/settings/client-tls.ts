/** Checks the certificates of a client connection; `server-tls.ts` uses its checks of a certificate and its key. */
import { X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import type { ClientTls } from '../../net/tls/client-tls.ts'
import type { Reader } from './reader.ts'

/**
 * Adds the faults of what was read.
 * @param prefix of the settings: `KAFKA` for KAFKA_CA, KAFKA_CERT and KAFKA_KEY
 * @param on the setting that turns TLS on, as its fault names it, if it is off
 * @returns undefined when TLS is off
 */
export function checkClientTls(
  read: Reader,
  prefix: string,
  tls: ClientTls,
  on: { readonly isOn: boolean; readonly fix: string },
): ClientTls | undefined {
  const { ca, cert, key } = tls
  if (!on.isOn) {
    for (const [name, value] of Object.entries({ CA: ca, CERT: cert, KEY: key }))
      if (value !== undefined)
        read.fault(
          `${prefix}_${name}`,
          'is set, but the connection does not use TLS.',
          `${on.fix}, or unset ${prefix}_${name}.`,
        )
    return undefined
  }
  checkCertificate(read, `${prefix}_CA`, ca?.text)
  if (checkCertificate(read, `${prefix}_CERT`, cert?.text)) checkPair(read, prefix, cert!.text, key?.text)
  else if (cert === undefined && key !== undefined)
    read.fault(`${prefix}_KEY`, `is set without ${prefix}_CERT.`, 'Set both or neither.')
  return tls
}

/** @returns whether there is one that can be used */
export function checkCertificate(read: Reader, name: string, pem: string | undefined): boolean {
  if (pem === undefined) return false
  try {
    new X509Certificate(pem)
    return true
  } catch {
    read.fault(name, 'is not a certificate in PEM format.', `Set ${name}_FILE to the path of a PEM file.`)
    return false
  }
}

/** Adds a fault unless the key, without a passphrase, belongs to the certificate. */
export function checkPair(read: Reader, prefix: string, cert: string, key: string | undefined): void {
  const name = `${prefix}_KEY`
  if (key === undefined) {
    read.fault(name, `is missing though ${prefix}_CERT is set.`, 'Set both or neither.')
    return
  }
  try {
    createSecureContext({ cert, key })
  } catch {
    read.fault(
      name,
      `cannot be used. It must be an unencrypted private key in PEM format that matches ${prefix}_CERT.`,
      `Set ${name}_FILE to the path of the key file.`,
    )
  }
}
