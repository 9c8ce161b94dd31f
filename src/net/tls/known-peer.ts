/** TLS options for a peer that is recognized by its certificate instead of a name. It connects to nothing. */
import { X509Certificate } from 'node:crypto'
import type { PeerCertificate } from 'node:tls'
import { presentText, type Renewable } from './client-tls.ts'

interface KnownPeerOptions {
  readonly minVersion: 'TLSv1.2'
  readonly ca: readonly string[]
  readonly allowPartialTrustChain: true
  readonly checkServerIdentity: (host: string, peer: PeerCertificate) => Error | undefined
}

/**
 * Accepts exactly this certificate, of which the peer proves to have the key: that says more than a name. Names are not compared, because a
 * certificate has the public one. Beside the present certificate the one before is accepted: a listener takes up a renewed one later, or keeps
 * the last one when it cannot use the new one.
 */
export class KnownPeer {
  readonly #certificate: Renewable
  /** The newest first. */
  #accepted: readonly X509Certificate[] = []
  #seen = ''

  /** @param certificate PEM, the one of the peer first. */
  constructor(certificate: Renewable) {
    this.#certificate = certificate
    this.#see(certificate.text)
  }

  /** For one connection: with the certificate that the file has at present. */
  options(): KnownPeerOptions {
    this.#see(presentText(this.#certificate))
    const accepted = this.#accepted
    return {
      minVersion: 'TLSv1.2',
      ca: accepted.map(String),
      // the certificate itself is trusted, and none that its authority has issued
      allowPartialTrustChain: true,
      checkServerIdentity: (_, { raw }) =>
        accepted.some(each => each.raw.equals(raw))
          ? undefined
          : new Error('the peer did not present the configured certificate'),
    }
  }

  #see(text: string): void {
    if (text === this.#seen) return
    this.#seen = text
    try {
      this.#accepted = [new X509Certificate(text), ...this.#accepted].slice(0, 2)
    } catch {
      // half written, or wrong: the listener does not use it either
    }
  }
}
