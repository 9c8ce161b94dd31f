/** TLS options of a server from the present content of files, and their renewal when the files change. */
import { createSecureContext, type SecureContextOptions, type Server } from 'node:tls'
import { presentText, type Renewable } from './client-tls.ts'

/** PEM texts of a server. */
export interface ServerTls {
  readonly cert: Renewable
  readonly key: Renewable
  /** Authorities whose client certificates are verified; undefined: clients are not asked for one. */
  readonly clientCa: Renewable | undefined
}

/** A secret that an orchestrator renews reaches the files within a minute; the old certificate is still valid then. */
const POLL_MS = 5_000

/** Cipher suites with authenticated encryption and forward secrecy; the list of Node ends with CBC and RSA key exchange. */
const CIPHERS =
  'TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256:ECDHE+AESGCM:ECDHE+CHACHA20'

/** The present content of the files, for `createServer` and `setSecureContext` of node:tls. */
export function serverTlsOptions({ cert, key, clientCa }: ServerTls): SecureContextOptions {
  return {
    minVersion: 'TLSv1.2',
    ciphers: CIPHERS,
    cert: presentText(cert),
    key: presentText(key),
    ...(clientCa === undefined ? {} : { ca: presentText(clientCa) }),
  }
}

/**
 * Gives the server the certificate that its files hold, each time they change. One that cannot be used is reported with the
 * reason, and the last one stays; undefined reports that the present one is in use.
 * @returns ends the renewal
 */
export function renewCertificate(
  server: Server,
  tls: ServerTls,
  report: (fault: string | undefined) => void,
): () => void {
  if ([tls.cert, tls.key, tls.clientCa].every(part => part?.file === undefined)) return () => {}
  let tried = textOf(serverTlsOptions(tls))
  const timer = setInterval(() => {
    const options = serverTlsOptions(tls)
    const text = textOf(options)
    if (text === tried) return
    tried = text
    try {
      createSecureContext(options)
      server.setSecureContext(options)
      report(undefined)
    } catch (error) {
      report((error as Error).message)
    }
  }, POLL_MS)
  timer.unref()
  return () => clearInterval(timer)
}

function textOf({ cert, key, ca }: SecureContextOptions): string {
  return JSON.stringify([cert, key, ca])
}
