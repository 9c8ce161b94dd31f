/** Checks another commit out into a separate folder, with its own bench or that of the working tree; installs, builds, runs npm. */
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Worktree {
  readonly folder: string
  /** Short hash. */
  readonly commit: string
  remove(): void
}

/** What a bench may read and git does not hold. */
const KEPT_OUTSIDE = ['.tools']

/** The bench, and the parts of the tests it uses. */
const SAME_ON_BOTH_SIDES = ['bench', 'test/oracles', 'test/fixtures']

/**
 * @param script of package.json that builds what is measured: `build:kernel` for suites, which run from sources
 *
 * @param ownBench the commit keeps its bench; else both sides are measured by the bench of the working tree, which cannot be run on a
 * commit whose files have other paths
 * @throws Error when the commit does not exist, or cannot be installed or built
 */
export function checkOut(
  root: string,
  ref: string,
  script: 'build' | 'build:kernel',
  ownBench: boolean,
  progress: (text: string) => void,
): Worktree {
  const commit = git(root, 'rev-parse', '--short', '--verify', `${ref}^{commit}`)
  const parent = mkdtempSync(join(tmpdir(), 'toolgate-compare-'))
  const folder = join(parent, 'tree')
  const remove = (): void => {
    try {
      git(root, 'worktree', 'remove', '--force', folder)
    } catch {
      // not added yet
    }
    rmSync(parent, { recursive: true, force: true })
  }
  try {
    progress(`check out ${ref} (${commit})`)
    git(root, 'worktree', 'add', '--detach', folder, commit)
    install(root, folder, progress)
    for (const name of KEPT_OUTSIDE)
      if (existsSync(join(root, name))) symlinkSync(join(root, name), join(folder, name))
    progress('build it')
    npm(folder, 'run', '--silent', script)
    for (const name of ownBench ? [] : SAME_ON_BOTH_SIDES) {
      rmSync(join(folder, name), { recursive: true, force: true })
      cpSync(join(root, name), join(folder, name), { recursive: true })
    }
    return { folder, commit, remove }
  } catch (error) {
    remove()
    throw error
  }
}

/** Packages of the working tree serve both sides where the two lock files are equal. */
function install(root: string, folder: string, progress: (text: string) => void): void {
  const [mine, other] = [root, folder].map(tree => readFileSync(join(tree, 'package-lock.json'), 'utf8'))
  if (mine === other) {
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
    return
  }
  progress('install its packages')
  npm(folder, 'ci', '--prefer-offline', '--no-audit', '--no-fund')
}

function git(cwd: string, ...args: string[]): string {
  return said('git', args, cwd).trim()
}

/** Runs npm in a tree, quietly; what it said is in the error. */
export function npm(cwd: string, ...args: string[]): void {
  said('npm', args, cwd)
}

function said(command: string, args: readonly string[], cwd: string): string {
  try {
    return execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string }
    const why = `${stderr ?? ''}${stdout ?? ''}`.trim() || (error as Error).message
    throw new Error(`${command} ${args.join(' ')}: ${why}`)
  }
}
