/** Finds or installs the pinned `regal`, the linter of Rego. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { type Environment, isExecutable, runGo } from './opa.ts'
import { downloadRelease, type Release } from './release.ts'

export const REGAL_VERSION = '0.35.1'
const REGAL_MODULE = 'github.com/styrainc/regal'

/** The version stands in the name: what Go builds as a part of another module does not know its own. */
function addressIn(toolsDir: string): string {
  return resolve(join(toolsDir, `regal-${REGAL_VERSION}${process.platform === 'win32' ? '.exe' : ''}`))
}

/** @returns the address of the program; undefined when it is not in the tools folder. */
export function findRegal(toolsDir: string): string | undefined {
  const program = addressIn(toolsDir)
  return isExecutable(program) ? program : undefined
}

function regalRelease(): Release {
  const system = { win32: 'Windows', darwin: 'Darwin' }[process.platform as string] ?? 'Linux'
  const machine = process.arch === 'x64' ? 'x86_64' : process.arch
  const file = `regal_${system}_${machine}${process.platform === 'win32' ? '.exe' : ''}`
  const url = `https://${REGAL_MODULE}/releases/download`
  return { program: 'regal', version: REGAL_VERSION, url, file, checksums: 'checksums.txt' }
}

/**
 * Finds `regal`, or downloads or builds it into the tools folder.
 * @param say called with a message before a slow step.
 * @throws Error that says what to install, or that the release has another digest.
 */
export async function requireRegal(
  toolsDir: string,
  env: Environment,
  say: (line: string) => void,
): Promise<string> {
  const found = findRegal(toolsDir)
  if (found !== undefined) return found
  say(`regal ${REGAL_VERSION} is not in ${toolsDir}; downloading its release`)
  const missing = await downloadRelease(regalRelease(), addressIn(toolsDir), env)
  if (missing === undefined) return addressIn(toolsDir)
  say(
    `The release of regal ${REGAL_VERSION} is not usable (${missing}); building regal with Go, which takes some minutes`,
  )
  const work = mkdtempSync(join(tmpdir(), 'toolgate-regal-'))
  try {
    mkdirSync(resolve(toolsDir), { recursive: true })
    // required by a separate module, so that Go fetches exactly this version, and checks it like any dependency
    writeFileSync(
      join(work, 'go.mod'),
      `module tools\n\ngo 1.24\n\nrequire ${REGAL_MODULE} v${REGAL_VERSION}\n`,
    )
    writeFileSync(join(work, 'tools.go'), `//go:build tools\n\npackage tools\n\nimport _ "${REGAL_MODULE}"\n`)
    const program = addressIn(toolsDir)
    const args = ['build', '-mod=mod', '-o', program, REGAL_MODULE]
    const ran = await runGo(args, { cwd: work, env }, `regal ${REGAL_VERSION}`)
    if (ran.exitCode !== 0) throw new Error(`regal could not be built: ${ran.stderr.trim().slice(-500)}`)
    return program
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}
