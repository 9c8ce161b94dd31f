/**
 * `npm run release -- patch|minor|major|X.Y.Z [--commit]`: the next version, its part of CHANGELOG.md, a commit, a tag and the package.
 * Without --commit it prints what it would do and changes nothing. It pushes and publishes nothing: it prints the commands.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const VERSION = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-[0-9A-Za-z.-]+)?$/
const run = (program, ...args) => execFileSync(program, args, { cwd: ROOT, encoding: 'utf8' }).trim()
const read = path => readFileSync(`${ROOT}${path}`, 'utf8')

/** @returns the version that follows @throws Error with the usage */
export function nextVersion(current, step) {
  const [major, minor, patch] = current.split(/[.-]/).map(Number)
  const steps = { major: [major + 1, 0, 0], minor: [major, minor + 1, 0], patch: [major, minor, patch + 1] }
  const next = steps[step]?.join('.') ?? step
  if (!VERSION.test(next ?? ''))
    throw new Error(`"${step}" is not a version; use patch, minor, major or X.Y.Z`)
  return next
}

/** Moves what is unreleased below a heading with version and day. @throws Error if nothing is */
export function releaseNotes(changelog, version, day) {
  const [head, rest = ''] = changelog.split('## [Unreleased]\n')
  const [notes] = rest.split(/^## \[/m, 1)
  if (notes.trim() === '')
    throw new Error('CHANGELOG.md has no entries below [Unreleased]; describe the changes there first')
  return `${head}## [Unreleased]\n\n## [${version}] - ${day}\n${rest}`
}

/** The files that name the version, with their new content. */
function changedFiles(version) {
  const manifest = read('package.json').replace(/^( {2}"version": )"[^"]+"/m, `$1"${version}"`)
  const lock = JSON.parse(read('package-lock.json'))
  lock.version = version
  lock.packages[''].version = version
  const chart = read('deploy/helm/toolgate/Chart.yaml').replace(/^((?:appV|v)ersion: ).*$/gm, `$1${version}`)
  return {
    'package.json': manifest,
    'package-lock.json': `${JSON.stringify(lock, null, 2)}\n`,
    'deploy/helm/toolgate/Chart.yaml': chart,
    'CHANGELOG.md': releaseNotes(read('CHANGELOG.md'), version, new Date().toISOString().slice(0, 10)),
  }
}

function main(step, flag) {
  const { version: current } = JSON.parse(read('package.json'))
  const version = nextVersion(current, step)
  const tag = `v${version}`
  if (run('git', 'tag', '--list', tag) !== '') throw new Error(`the tag ${tag} exists`)
  if (run('git', 'status', '--porcelain', '--untracked-files=no') !== '')
    throw new Error('the working tree has uncommitted changes; commit them first')
  const files = changedFiles(version)
  const steps = [`git push origin HEAD ${tag}`, `npm publish .pack/toolgate-${version}.tgz`]
  if (flag !== '--commit') {
    console.log(
      `${current} → ${version}: would change ${Object.keys(files).join(', ')}, commit, tag ${tag} and pack; then:`,
    )
    console.log(steps.join('\n'))
    return
  }
  for (const [path, text] of Object.entries(files)) writeFileSync(`${ROOT}${path}`, text)
  run('git', 'commit', '--quiet', '--message', `chore: release ${version}`, '--', ...Object.keys(files))
  // after the commit, so that what is packed is what is tagged
  execFileSync('npm', ['run', '--silent', 'pack', '--', '.pack'], { cwd: ROOT, stdio: 'inherit' })
  execFileSync(process.execPath, ['scripts/smoke.mjs', `.pack/toolgate-${version}.tgz`], {
    cwd: ROOT,
    stdio: 'inherit',
  })
  run('git', 'tag', '--annotate', tag, '--message', `Toolgate ${version}`)
  console.log(`Tagged ${tag}. To publish:\n${steps.join('\n')}`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    main(...process.argv.slice(2))
  } catch (error) {
    console.error(`release: ${error.message}`)
    process.exitCode = 1
  }
}
