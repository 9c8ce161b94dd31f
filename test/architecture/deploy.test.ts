/** Files of deployments: the restrictions of service and image, the contents of the package, and the versions of a release. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
// @ts-expect-error scripts without types
import { keepsDependency, keepsFile, SHIPPED_PLATFORMS } from '../../scripts/pack/contents.mjs'
// @ts-expect-error scripts without types
import { nextVersion, releaseNotes } from '../../scripts/release.mjs'
import { NATIVE_BUILDS } from '../../src/net/server/uws/builds.ts'

const ROOT = join(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

describe('deploy/systemd/toolgate.service', () => {
  const unit = join(ROOT, 'deploy/systemd/toolgate.service')
  const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0

  it.skipIf(!hasSystemd)('has an exposure of at most 2.6', () => {
    const options = ['security', '--offline=yes', '--threshold=26', '--no-pager', unit]
    const { status, stdout } = spawnSync('systemd-analyze', options, { encoding: 'utf8' })
    expect([status, stdout.split('\n').findLast(line => line !== '')]).toEqual([
      0,
      expect.stringContaining('OK'),
    ])
  })

  it('has no capability, writes to its state only, and ends within its grace period', () => {
    const settings = new Map(
      read('deploy/systemd/toolgate.service')
        .split('\n')
        .filter(line => /^[A-Z]\w+=/.test(line))
        .map(line => line.split(/=(.*)/s).slice(0, 2) as [string, string]),
    )
    expect(Object.fromEntries(settings)).toMatchObject({
      CapabilityBoundingSet: '',
      DynamicUser: 'yes',
      NoNewPrivileges: 'yes',
      ProtectSystem: 'strict',
      StateDirectory: 'toolgate',
      RestartPreventExitStatus: '78',
    })
    // the defaults of SHUTDOWN_DELAY and DRAIN_TIMEOUT in production
    expect(Number(settings.get('TimeoutStopSec'))).toBeGreaterThan(5 + 10)
  })
})

describe('Containerfile', () => {
  const lines = read('Containerfile').split('\n')
  const last = (word: string) => lines.findLast(line => line.startsWith(word))

  it('runs as another user than root, stores in a volume, and starts in production', () => {
    expect([last('USER'), last('VOLUME'), last('HEALTHCHECK')]).toEqual([
      'USER 10001:10001',
      'VOLUME /data',
      expect.stringContaining('--interval'),
    ])
    expect(read('Containerfile')).toMatch(/NODE_ENV=production \\\n\s+GATEWAY_HOST=0\.0\.0\.0/)
  })
})

describe('npm run pack', () => {
  it('ships native builds that were reviewed, for each line of Node', () => {
    const reviewed = NATIVE_BUILDS.flatMap(build => Object.keys(build.sha256))
    expect(SHIPPED_PLATFORMS.filter((platform: string) => !reviewed.includes(platform))).toEqual([])
    expect(SHIPPED_PLATFORMS).toEqual(
      expect.arrayContaining(['linux_x64_115', 'linux_x64_127', 'linux_x64_137']),
    )
  })

  it.each([
    ['pino', 'lib/tools.js', true],
    ['pino', 'LICENSE', true],
    ['pino', 'package.json', true],
    ['pino', 'test/basic.test.js', false],
    ['pino', 'pino.d.ts', false],
    ['kysely', 'dist/esm/index.js.map', false],
    ['redoc', 'bundles/redoc.standalone.js', true],
    ['redoc', 'bundles/redoc.lib.js', false],
    ['@btc-vision/uwebsockets.js', 'uws_linux_x64_137.node', true],
    ['@btc-vision/uwebsockets.js', 'uws_win32_x64_137.node', false],
    ['@opentelemetry/core', 'build/esm/index.js', false],
    ['@opentelemetry/core', 'build/src/index.js', true],
  ])('%s/%s: %s', (name, path, isKept) => {
    expect(keepsFile(name, path)).toBe(isKept)
  })

  it('leaves out what a bundle contains already', () => {
    expect([
      keepsDependency('redoc', 'react'),
      keepsDependency('', 'redoc'),
      keepsDependency('ws', 'bufferutil'),
    ]).toEqual([false, true, false])
  })
})

describe('npm run release', () => {
  it('counts versions', () => {
    const next = ['patch', 'minor', 'major', '2.0.0-rc.1'].map(step => nextVersion('1.2.3', step))
    expect(next).toEqual(['1.2.4', '1.3.0', '2.0.0', '2.0.0-rc.1'])
    expect(() => nextVersion('1.2.3', 'larger')).toThrow('use patch, minor, major or X.Y.Z')
    expect(() => nextVersion('1.2.3', undefined)).toThrow('is not a version')
  })

  it('moves what is unreleased below the new version, and refuses an empty release', () => {
    const text = '# Changelog\n\n## [Unreleased]\n\n- new\n\n## [0.1.0] - 2026-01-01\n\n- old\n'
    expect(releaseNotes(text, '0.2.0', '2026-02-01')).toBe(
      '# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-02-01\n\n- new\n\n## [0.1.0] - 2026-01-01\n\n- old\n',
    )
    expect(() => releaseNotes(text.replace('- new\n\n', ''), '0.2.0', '2026-02-01')).toThrow(
      'has no entries below [Unreleased]',
    )
  })
})

it('the version is the same in package, lock file and chart', () => {
  const { version } = JSON.parse(read('package.json'))
  const lock = JSON.parse(read('package-lock.json'))
  const chart = [...read('deploy/helm/toolgate/Chart.yaml').matchAll(/^(?:appV|v)ersion: (.*)$/gm)].map(
    match => match[1],
  )
  expect([lock.version, lock.packages[''].version, ...chart]).toEqual([version, version, version, version])
})
