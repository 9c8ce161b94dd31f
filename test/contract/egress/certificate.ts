/** A certificate of localhost for tests over TLS, made by openssl once per process. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ClientTls } from '../../../src/net/tls/client-tls.ts'

interface Certificate {
  readonly key: string
  readonly cert: string
  /** Of a client that trusts it. */
  readonly tls: ClientTls
}

let made: Certificate | undefined

export function certificate(): Certificate {
  made ??= make()
  return made
}

function make(): Certificate {
  const folder = mkdtempSync(join(tmpdir(), 'toolgate-certificate-'))
  const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const options =
    'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost'
  execFileSync('openssl', [...options.split(' '), '-keyout', keyFile, '-out', certFile], { stdio: 'ignore' })
  const [key, cert] = [readFileSync(keyFile, 'utf8'), readFileSync(certFile, 'utf8')]
  rmSync(folder, { recursive: true })
  return { key, cert, tls: { ca: { text: cert, file: undefined }, cert: undefined, key: undefined } }
}
