/** A certificate of localhost for tests over TLS, made by openssl once per process. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ClientTls } from '../../../src/net/tls/client-tls.ts'

interface Certificate {
  readonly key: string
  readonly cert: string
  /** For a client that trusts it. */
  readonly tls: ClientTls
}

/** By the clock of the process: in a run as of a date it is set back for each test file, and a certificate of the file before is not valid yet. */
const made = new Map<string | undefined, Certificate>()

export function certificate(): Certificate {
  const clock = process.env.CLOCK_OFFSET_MS
  const known = made.get(clock) ?? make()
  made.set(clock, known)
  return known
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
