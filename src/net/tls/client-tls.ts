/** Values that may be renewed in files while the process runs, and TLS options of a client made of them. It connects to nothing. */
import { readFileSync } from 'node:fs'

/** A value that may be replaced while the process runs. */
export interface Renewable {
  /** The content at the start. */
  readonly text: string
  /** undefined: the value cannot change. */
  readonly file: string | undefined
}

/** PEM texts of a client. undefined CA: the authorities that Node trusts. Certificate and key are set together. */
export interface ClientTls {
  readonly ca: Renewable | undefined
  readonly cert: Renewable | undefined
  readonly key: Renewable | undefined
}

/** The present content; while the file cannot be read or is empty, that of the start. */
export function presentText({ text, file }: Renewable): string {
  if (file === undefined) return text
  try {
    return readFileSync(file, 'utf8').trim() || text
  } catch {
    return text
  }
}

interface ClientTlsOptions {
  readonly minVersion: 'TLSv1.2'
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
}

/**
 * Options for `tls.connect`. The files are read when a property is read: a client library that copies the options for each
 * connection connects with the present certificates.
 */
export function clientTlsOptions({ ca, cert, key }: ClientTls): ClientTlsOptions {
  const options = { minVersion: 'TLSv1.2' as const }
  for (const [name, value] of Object.entries({ ca, cert, key }))
    if (value !== undefined)
      Object.defineProperty(options, name, { enumerable: true, get: () => presentText(value) })
  return options
}
