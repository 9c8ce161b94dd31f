/** Finds the pinned `opa` and `regal`, or downloads their releases into the tools folder. */
import { join, resolve } from 'node:path'
import { type Environment, findOpa, OPA_VERSION } from '../../../policy/workshop/opa.ts'
import { findRegal, REGAL_VERSION, regalIn } from '../../../policy/workshop/regal.ts'
import { downloadRelease, type Release } from './release.ts'

const EXECUTABLE = process.platform === 'win32' ? '.exe' : ''

function opaRelease(): Release {
  const system = process.platform === 'win32' ? 'windows' : process.platform
  const linking = process.platform === 'win32' ? EXECUTABLE : '_static'
  const file = `opa_${system}_${process.arch === 'x64' ? 'amd64' : process.arch}${linking}`
  const url = 'https://github.com/open-policy-agent/opa/releases/download'
  return { program: 'opa', version: OPA_VERSION, url, file, checksums: `${file}.sha256` }
}

function regalRelease(): Release {
  const system = { win32: 'Windows', darwin: 'Darwin' }[process.platform as string] ?? 'Linux'
  const file = `regal_${system}_${process.arch === 'x64' ? 'x86_64' : process.arch}${EXECUTABLE}`
  const url = 'https://github.com/styrainc/regal/releases/download'
  return { program: 'regal', version: REGAL_VERSION, url, file, checksums: 'checksums.txt' }
}

/**
 * @param say called with a message before a download.
 * @throws Error that says what to install, or that the release has another digest.
 */
export async function requireOpa(
  toolsDir: string,
  env: Environment,
  say: (line: string) => void,
): Promise<string> {
  const found = await findOpa(toolsDir, env)
  if (found !== undefined) return found
  say(`opa ${OPA_VERSION} is not on the PATH; downloading its release`)
  const missing = await downloadRelease(opaRelease(), resolve(join(toolsDir, `opa${EXECUTABLE}`)), env)
  const downloaded = missing === undefined ? await findOpa(toolsDir, env) : undefined
  if (downloaded !== undefined) return downloaded
  throw notUsable('opa', OPA_VERSION, missing ?? 'it does not run on this machine')
}

/** @throws Error as `requireOpa` */
export async function requireRegal(
  toolsDir: string,
  env: Environment,
  say: (line: string) => void,
): Promise<string> {
  const found = findRegal(toolsDir)
  if (found !== undefined) return found
  say(`regal ${REGAL_VERSION} is not in ${toolsDir}; downloading its release`)
  const missing = await downloadRelease(regalRelease(), regalIn(toolsDir), env)
  if (missing === undefined) return regalIn(toolsDir)
  throw notUsable('regal', REGAL_VERSION, missing)
}

function notUsable(program: 'opa' | 'regal', version: string, why: string): Error {
  const place = program === 'opa' ? 'on the PATH' : `in the tools folder as regal-${version}`
  return new Error(
    `The release of ${program} ${version} is not usable (${why}). Put ${program} ${version} ${place}, or set POLICY_TOOLS_URL to a mirror of the releases.`,
  )
}
