/** How `opa` and `regal` are found and downloaded: shell scripts in place of the programs. */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { requireOpa, requireRegal } from '../../../../../src/app/cli/policy/programs.ts'
import { findOpa, OPA_VERSION, runProgram } from '../../../../../src/policy/workshop/opa.ts'
import { findRegal, REGAL_VERSION } from '../../../../../src/policy/workshop/regal.ts'

let dir = ''
let tools = ''
let said: string[]
const say = (line: string) => void said.push(line)
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'programs-'))
  tools = join(dir, 'tools')
  mkdirSync(tools)
  said = []
})
afterEach(() => rmSync(dir, { recursive: true }))

const REPORTS = `#!/bin/sh\necho "Version: ${OPA_VERSION}"\n`

/** A program on the path of the test, which also has the shell. */
function program(folder: string, name: string, script: string, mode = 0o755): string {
  mkdirSync(join(dir, folder), { recursive: true })
  const file = join(dir, folder, name)
  writeFileSync(file, script, { mode })
  return file
}
/** No release can be downloaded, unless a test serves one. */
const NOTHING = 'http://127.0.0.1:1'
const envWith = (...folders: string[]) => ({
  PATH: [...folders.map(folder => join(dir, folder)), '/usr/bin', '/bin'].join(delimiter),
  POLICY_TOOLS_URL: NOTHING,
})

describe('a program', () => {
  it('has its output and exit code reported', async () => {
    const file = program('bin', 'say', '#!/bin/sh\necho "$1 in $(basename "$PWD")"; echo wrong >&2; exit 3\n')
    expect(await runProgram(file, ['hello'], { cwd: tools, env: envWith() })).toEqual({
      exitCode: 3,
      stdout: 'hello in tools\n',
      stderr: 'wrong\n',
    })
    expect((await runProgram('/bin/sh', ['-c', ':'], { env: envWith() })).exitCode).toBe(0)
  })

  it('that takes too long is ended, with exit code -1', async () => {
    const ran = runProgram('/bin/sh', ['-c', 'exec sleep 30'], { env: envWith(), timeoutMs: 50 })
    expect(await ran).toEqual({ exitCode: -1, stdout: '', stderr: 'sh took too long and was stopped.\n' })
  })

  it('that the system ends for its processor time or memory has exit code -1 too, and what it wrote', async () => {
    const busy = 'ulimit -t 1; echo begun; while :; do :; done'
    const ran = await runProgram('/bin/sh', ['-c', busy], { env: envWith(), name: 'opa' })
    expect(ran).toMatchObject({ exitCode: -1, stdout: 'begun\n' })
    expect(ran.stderr).toMatch(
      /^opa was stopped by SIG(KILL|XCPU), probably because it needed too much time or memory\.\n$/,
    )
    const killed = await runProgram('/bin/sh', ['-c', 'echo "half a line" >&2; kill -KILL $$'], {
      env: envWith(),
    })
    expect(killed.stderr).toBe(
      'half a line\nsh was stopped by SIGKILL, probably because it needed too much time or memory.\n',
    )
  })

  it('that writes more than is kept is an error', async () => {
    const endless = runProgram('/bin/sh', ['-c', 'exec cat /dev/zero'], { env: envWith() })
    await expect(endless).rejects.toThrow('maxBuffer')
  })

  it('that does not exist is an error', async () => {
    await expect(runProgram(join(dir, 'none'), [], { env: envWith() })).rejects.toThrow('ENOENT')
  })
})

describe('opa', () => {
  it('is the first of the pinned version on the path, else that of the tools folder', async () => {
    program('old', 'opa', '#!/bin/sh\necho "Version: 0.1.0"\n')
    program('plain', 'opa', REPORTS, 0o644)
    program('broken', 'opa', 'not a program')
    const env = envWith('old', 'plain', 'broken', 'none')
    expect(await findOpa(tools, env)).toBeUndefined()
    const own = program('tools', 'opa', REPORTS)
    expect(await findOpa(tools, env)).toBe(own)
    const first = program('good', 'opa', REPORTS)
    expect(await findOpa(tools, envWith('old', 'good'))).toBe(first)
    expect(await requireOpa(tools, envWith('good'), say)).toBe(first)
    expect(said).toEqual([])
  })
})

describe('regal', () => {
  const file = () => join(tools, `regal-${REGAL_VERSION}`)

  it('is found in the tools folder alone, when it can be run', async () => {
    expect(findRegal(tools)).toBeUndefined()
    program('tools', `regal-${REGAL_VERSION}`, '#!/bin/sh\n', 0o644)
    expect(findRegal(tools)).toBeUndefined()
    rmSync(file())
    program('tools', `regal-${REGAL_VERSION}`, '#!/bin/sh\n')
    expect(findRegal(tools)).toBe(file())
    expect(await requireRegal(tools, envWith(), say)).toBe(file())
    expect(said).toEqual([])
  })
})

describe('a release', () => {
  let server: Server
  let files: Record<string, string>
  const requested: string[] = []
  beforeEach(async () => {
    files = {}
    requested.length = 0
    server = createServer((request, response) => {
      requested.push(request.url ?? '')
      const content = files[request.url ?? '']
      response.writeHead(content === undefined ? 404 : 200).end(content)
    })
    await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  })
  afterEach(() => void server.close())
  const env = (more: Record<string, string> = {}) => ({
    PATH: join(dir, 'empty'),
    POLICY_TOOLS_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ...more,
  })
  const digest = (content: string) => createHash('sha256').update(content).digest('hex')
  const system = process.platform === 'linux' ? 'linux' : process.platform
  const opa = `/opa/v${OPA_VERSION}/opa_${system}_${process.arch === 'x64' ? 'amd64' : process.arch}_static`
  const sh = `#!/bin/sh\necho "Version: ${OPA_VERSION}"\n`

  it('is not downloaded from an address with a password, which no message repeats', async () => {
    const mirror = 'http://user:canary@127.0.0.1:1'
    const failed = requireOpa(tools, env({ POLICY_TOOLS_URL: mirror }), say).catch((error: Error) => error)
    expect(String(await failed)).toContain('POLICY_TOOLS_URL contains a user name or password. Remove them')
    expect(`${await failed} ${said}`).not.toContain('canary')
  })

  it('is downloaded when its digest is the published one', async () => {
    files[opa] = sh
    files[`${opa}.sha256`] = `${digest(sh)}  ${opa.slice(opa.lastIndexOf('/') + 1)}\n`
    expect(await requireOpa(tools, env(), say)).toBe(join(tools, 'opa'))
    expect(await findOpa(tools, env())).toBe(join(tools, 'opa'))
    expect(said).toEqual([`opa ${OPA_VERSION} is not on the PATH; downloading its release`])

    const name = `regal_${system === 'linux' ? 'Linux' : 'Darwin'}_${process.arch === 'x64' ? 'x86_64' : process.arch}`
    files[`/regal/v${REGAL_VERSION}/${name}`] = sh
    files[`/regal/v${REGAL_VERSION}/checksums.txt`] =
      `${digest('other')}  regal_Other\n${digest(sh)}  ${name}\n`
    expect(await requireRegal(tools, env(), say)).toBe(join(tools, `regal-${REGAL_VERSION}`))
  })

  it('with another digest is not installed', async () => {
    files[opa] = sh
    files[`${opa}.sha256`] = digest('another program')
    await expect(requireOpa(tools, env(), say)).rejects.toThrow(`has the SHA-256 digest ${digest(sh)}, not`)
    files[`${opa}.sha256`] = 'no digest'
    await expect(requireOpa(tools, env(), say)).rejects.toThrow(
      'but the release publishes no valid digest for this file',
    )
    files[`${opa}.sha256`] = digest(sh)
    await expect(requireOpa(tools, env({ OPA_SHA256: digest('pinned') }), say)).rejects.toThrow(
      `not the expected digest ${digest('pinned')}`,
    )
    expect(existsSync(join(tools, 'opa'))).toBe(false)
  })

  it.each([
    ['a name with a star, as of a binary file', (sum: string, name: string) => `${sum} *${name}\n`, true],
    ['a name in this folder', (sum: string, name: string) => `${sum}  ./${name}\n`, true],
    ['capital letters', (sum: string, name: string) => `${sum.toUpperCase()}  ${name}\n`, true],
    ['blanks before it', (sum: string, name: string) => `  ${sum}  ${name}\n`, true],
    ['a digit more', (sum: string, name: string) => `${sum}0  ${name}\n`, false],
    ['other letters before it', (sum: string, name: string) => `x${sum}  ${name}\n`, false],
    ['the name of another file', (sum: string, name: string) => `${sum}  other-${name}\n`, false],
  ])('with a published digest with %s', async (_, line, isAccepted) => {
    files[opa] = sh
    files[`${opa}.sha256`] = line(digest(sh), opa.slice(opa.lastIndexOf('/') + 1))
    const installed = requireOpa(tools, env(), say)
    if (isAccepted) expect(await installed).toBe(join(tools, 'opa'))
    else await expect(installed).rejects.toThrow('but the release publishes no valid digest for this file')
  })

  it('whose list of digests is too large is not read to its end', async () => {
    files[opa] = sh
    const line = `${digest(sh)}  ${opa.slice(opa.lastIndexOf('/') + 1)}\n`
    files[`${opa}.sha256`] = line + ' '.repeat(64 * 1024 - line.length)
    expect(await requireOpa(tools, env(), say)).toBe(join(tools, 'opa'))
    rmSync(join(tools, 'opa'))
    files[`${opa}.sha256`] += ' '
    await expect(requireOpa(tools, env(), say)).rejects.toThrow('is larger than 65536 bytes')
  })

  it('comes from the address that is set, whatever slashes end it', async () => {
    files[opa] = sh
    files[`${opa}.sha256`] = digest(sh)
    const url = `${env().POLICY_TOOLS_URL}//`
    // a variable that a CI system sets without a value pins no digest
    expect(await requireOpa(tools, env({ POLICY_TOOLS_URL: url, OPA_SHA256: '' }), say)).toBe(
      join(tools, 'opa'),
    )
    expect(requested).toContain(opa)
  })

  it('with a pinned digest needs no published one', async () => {
    files[opa] = sh
    expect(await requireOpa(tools, env({ OPA_SHA256: digest(sh) }), say)).toBe(join(tools, 'opa'))
    expect(requested).toEqual([opa])
  })

  it('that its server does not have is an error that says why and what to do', async () => {
    await expect(requireOpa(tools, env(), say)).rejects.toThrow(
      /responded with 404\)\. Put opa [\d.]+ on the PATH, or set POLICY_TOOLS_URL/,
    )
    await expect(requireRegal(tools, env(), say)).rejects.toThrow(/Put regal [\d.]+ in the tools folder/)
  })

  it('is not fetched from another machine without https', async () => {
    for (const url of ['http://mirror.example', 'ftp://mirror.example', 'mirror'])
      await expect(requireOpa(tools, env({ POLICY_TOOLS_URL: url }), say)).rejects.toThrow('POLICY_TOOLS_URL')
  })
})
