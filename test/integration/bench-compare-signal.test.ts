/** `npm run bench:compare` interrupted while the packages of the other commit are installed: its worktree is removed. git and npm are scripts. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'

const REPOSITORY = join(import.meta.dirname, '../..')
/** A worktree with another lock file, so that its packages are installed. */
const GIT = `#!/bin/sh
case "$1 $2" in
  'rev-parse --short') echo abc1234 ;;
  'worktree add') mkdir "$4" && echo '{}' > "$4/package-lock.json" ;;
  'worktree remove') rm -rf "$4" ;;
esac
`
let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'toolgate-interrupted-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function script(name: string, text: string): void {
  writeFileSync(join(folder, name), text)
  chmodSync(join(folder, name), 0o755)
}

it('removes its worktree at Ctrl-C', async () => {
  const [temporary, installs] = [join(folder, 'tmp'), join(folder, 'installs')]
  mkdirSync(temporary)
  script('git', GIT)
  script('npm', `#!/bin/sh\n[ "$1" = ci ] || exit 0\necho $$ > '${installs}'\nexec sleep 300\n`)
  const args = ['--import', 'tsx', 'bench/compare/run.ts', 'HEAD', '--filter', 'kernel/copy']
  const child = spawn(process.execPath, args, {
    cwd: REPOSITORY,
    env: { PATH: `${folder}:${process.env.PATH}`, TMPDIR: temporary },
    stdio: 'ignore',
    detached: true,
  })
  const ended = once(child, 'exit')
  const worktrees = (): string[] =>
    readdirSync(temporary).filter(name => name.startsWith('toolgate-compare-'))
  await expect
    .poll(() => existsSync(installs) && readFileSync(installs, 'utf8'), { timeout: 30_000 })
    .toMatch(/\d/)
  expect(worktrees()).toHaveLength(1)
  // as a terminal sends it, to the processes of the group
  process.kill(-child.pid!, 'SIGINT')
  await ended
  expect(worktrees()).toEqual([])
}, 60_000)
