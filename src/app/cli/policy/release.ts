/** Downloads the release of a policy program, from its publisher or a mirror, and checks its SHA-256. */
import { createHash } from 'node:crypto'
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { isLoopback } from '../../../base/loopback.ts'
import { shownAddress } from '../../../base/shown-address.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** A machine without access to the releases learns it after this time. */
const CONNECT_TIMEOUT_MS = 10_000
const DOWNLOAD_TIMEOUT_MS = 10 * 60_000
const MAX_PROGRAM_BYTES = 256 * 1024 * 1024
const MAX_CHECKSUMS_BYTES = 64 * 1024

export interface Release {
  /** `opa` or `regal`, also the folder on a mirror */
  readonly program: string
  readonly version: string
  /** Address of the folder that has a folder `v<version>` for each release. */
  readonly url: string
  /** Name of the program's file in the release. */
  readonly file: string
  /** Name of the file with the checksum: either `<digest>  <file>` in each line, or only the digest. */
  readonly checksums: string
}

/**
 * Downloads a release into `target`, if it can be downloaded and written.
 * `POLICY_TOOLS_URL` names a mirror (`<url>/<program>/v<version>/<file>`); `OPA_SHA256` and `REGAL_SHA256` pin the digest,
 * which otherwise is the one that the release publishes beside the program.
 * @returns undefined when the program was written; the reason when it could not be downloaded or written
 * @throws Error when the program does not have the digest, or the address of the mirror is not allowed
 */
export async function downloadRelease(
  release: Release,
  target: string,
  env: Environment,
): Promise<string | undefined> {
  const folder = `${releasesUrl(release, env)}/v${release.version}`
  // CI systems set a variable without a value to ''
  const pinned = env[`${release.program.toUpperCase()}_SHA256`] || undefined
  try {
    const program = await read(`${folder}/${release.file}`, MAX_PROGRAM_BYTES)
    const expected = pinned ?? digestIn(await readText(`${folder}/${release.checksums}`), release.file)
    const digest = createHash('sha256').update(program).digest('hex')
    if (expected?.toLowerCase() !== digest) {
      const why =
        expected === undefined
          ? 'but the release publishes no valid digest for this file'
          : `not the expected digest ${expected}`
      throw new WrongDigest(
        `${shownAddress(`${folder}/${release.file}`)} has the SHA-256 digest ${digest}, ${why}: nothing was installed`,
      )
    }
    writeProgram(program, target)
    return undefined
  } catch (error) {
    if (error instanceof WrongDigest) throw error
    return reasonOf(error)
  }
}

class WrongDigest extends Error {}

function releasesUrl(release: Release, env: Environment): string {
  const mirror = env.POLICY_TOOLS_URL
  if (mirror === undefined || mirror === '') return release.url
  if (!URL.canParse(mirror))
    throw new Error(
      `POLICY_TOOLS_URL is "${shownAddress(mirror)}", which is not a URL. Set it to "https://HOST/PATH".`,
    )
  const { protocol, hostname, username, password } = new URL(mirror)
  // fetch refuses it as well, in a message with the password
  if (username !== '' || password !== '')
    throw new Error('POLICY_TOOLS_URL contains a user name or password. Remove them from the URL.')
  // over http another host could exchange the program and its digest together
  if (protocol !== 'https:' && !isLoopback(hostname))
    throw new Error(
      'POLICY_TOOLS_URL must be an https URL, or a URL with a loopback host such as "localhost", "127.0.0.1" or "[::1]".',
    )
  return `${mirror.replace(/\/+$/, '')}/${release.program}`
}

async function read(url: string, maxBytes: number): Promise<Buffer> {
  const abort = new AbortController()
  const connecting = setTimeout(() => abort.abort(new Error('no response within 10 s')), CONNECT_TIMEOUT_MS)
  const deadline = AbortSignal.timeout(DOWNLOAD_TIMEOUT_MS)
  try {
    const response = await fetch(url, { signal: AbortSignal.any([abort.signal, deadline]) })
    clearTimeout(connecting)
    if (!response.ok || response.body === null)
      throw new Error(`${shownAddress(url)} responded with ${response.status}`)
    const chunks: Uint8Array[] = []
    let bytes = 0
    for await (const chunk of response.body) {
      bytes += chunk.length
      if (bytes > maxBytes) throw new Error(`${shownAddress(url)} is larger than ${maxBytes} bytes`)
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  } finally {
    clearTimeout(connecting)
  }
}

async function readText(url: string): Promise<string> {
  return (await read(url, MAX_CHECKSUMS_BYTES)).toString('utf8')
}

/** The digest of `file` in a list of checksums. */
function digestIn(checksums: string, file: string): string | undefined {
  for (const line of checksums.split('\n')) {
    const [digest = '', name = ''] = line.trim().split(/\s+/)
    if (/^[0-9a-f]{64}$/i.test(digest) && (name === '' || name.replace(/^[*.]*\/?/, '') === file))
      return digest
  }
  return undefined
}

/** The program appears under its name only when it is complete. */
function writeProgram(program: Buffer, target: string): void {
  mkdirSync(dirname(target), { recursive: true })
  const partial = `${target}.${process.pid}.partial`
  try {
    writeFileSync(partial, program, { mode: 0o755 })
    renameSync(partial, target)
  } finally {
    rmSync(partial, { force: true })
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message
}
