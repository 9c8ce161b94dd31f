/** Checks the certificate of the endpoint with a TLS handshake. */

import { connect, type PeerCertificate, type TLSSocket } from 'node:tls'
import { bareHost } from '../../../../base/bare-host.ts'
import { Fault } from '../fault.ts'
import type { Step } from '../visit.ts'

const TIMEOUT_MS = 10_000
const WARN_BEFORE_DAYS = 14
const DAY_MS = 86_400_000

export const tls: Step = {
  id: 'tls',
  async run({ url, client }) {
    const { protocol, hostname, port } = new URL(url)
    if (protocol !== 'https:') return { skipped: 'The URL uses plain http.' }
    const host = bareHost(hostname)
    const certificate = await certificateOf(
      host,
      port === '' ? 443 : Number(port),
      client.callsFromTheInternet,
    )
    const days = Math.floor((Date.parse(certificate.valid_to) - Date.now()) / DAY_MS)
    const issuer = String(
      certificate.issuer?.O ?? certificate.issuer?.CN ?? 'an unnamed certificate authority',
    )
    return {
      facts: [`The issuer of the certificate is ${issuer}; days until the certificate expires: ${days}.`],
      warnings:
        days < WARN_BEFORE_DAYS
          ? [`The certificate expires in less than ${WARN_BEFORE_DAYS} days: renew the certificate.`]
          : [],
    }
  },
}

function certificateOf(host: string, port: number, fromTheInternet: boolean): Promise<PeerCertificate> {
  const name = /^[\d.]+$|:/.test(host) ? {} : { servername: host }
  return new Promise((resolve, reject) => {
    const socket: TLSSocket = connect({ host, port, ...name, timeout: TIMEOUT_MS })
    const end = (error: Error): void => {
      socket.destroy()
      reject(error)
    }
    socket.once('secureConnect', () => {
      const certificate = socket.getPeerCertificate()
      socket.destroy()
      resolve(certificate)
    })
    socket.once('timeout', () =>
      end(
        new Fault(
          `${host}:${port} does not complete the TLS handshake within 10 s.`,
          'Check that the gateway, or the proxy in front of the gateway, accepts TLS connections at this address and port.',
        ),
      ),
    )
    socket.once('error', (error: NodeJS.ErrnoException) =>
      end(
        new Fault(
          `TLS to ${host}:${port} fails: ${error.message} (${error.code}).`,
          fixOf(error, fromTheInternet),
        ),
      ),
    )
  })
}

function fixOf({ code = '', message }: NodeJS.ErrnoException, fromTheInternet: boolean): string {
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return 'The certificate is for another host name: issue a certificate for the host name that clients use.'
  if (code === 'CERT_HAS_EXPIRED') return 'Renew the certificate.'
  if (/SELF_SIGNED|UNABLE_TO_(VERIFY|GET_ISSUER)/.test(code))
    return fromTheInternet
      ? 'This client trusts only public certificate authorities: use a certificate from a public authority.'
      : 'Use a certificate from a public authority and serve its intermediate certificates, or make the clients trust your authority. ' +
          'For clients on Node.js and for this command, set NODE_EXTRA_CA_CERTS to the path of the PEM file with the certificate of your authority. For other clients, add the authority to the certificate store of the system.'
  return /wrong version number|packet length/.test(message)
    ? 'The port serves plain http: use http:// in the URL, or terminate TLS in front of the gateway.'
    : 'Check that the gateway, or the proxy in front of the gateway, serves TLS at this address and port.'
}
