/** Installs opa and regal, which build and check policies, into .tools/bin: found, downloaded, or built with Go where the releases cannot be reached. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { requireOpa, requireRegal } from '../src/app/cli/policy/programs.ts'
import { OPA_VERSION } from '../src/policy/workshop/opa.ts'
import { REGAL_VERSION, regalIn } from '../src/policy/workshop/regal.ts'

const REGAL_MODULE = 'github.com/styrainc/regal'
const dir = '.tools/bin'
const say = line => process.stderr.write(`${line}\n`)

function go(args, options = {}) {
  execFileSync('go', args, { stdio: 'inherit', ...options })
}

try {
  await requireOpa(dir, process.env, say)
} catch (error) {
  say(`${error.message}\nBuilding opa with Go, which takes some minutes`)
  go(['install', `github.com/open-policy-agent/opa@v${OPA_VERSION}`], {
    env: { ...process.env, GOBIN: resolve(dir) },
  })
}
try {
  await requireRegal(dir, process.env, say)
} catch (error) {
  say(`${error.message}\nBuilding regal with Go, which takes some minutes`)
  const work = mkdtempSync(join(tmpdir(), 'toolgate-regal-'))
  try {
    mkdirSync(dir, { recursive: true })
    // required by a separate module, so that Go fetches exactly this version, and checks it like any dependency
    writeFileSync(
      join(work, 'go.mod'),
      `module tools\n\ngo 1.24\n\nrequire ${REGAL_MODULE} v${REGAL_VERSION}\n`,
    )
    writeFileSync(join(work, 'tools.go'), `//go:build tools\n\npackage tools\n\nimport _ "${REGAL_MODULE}"\n`)
    go(['build', '-mod=mod', '-o', regalIn(dir), REGAL_MODULE], { cwd: work })
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}
