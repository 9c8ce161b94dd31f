/** Which native build of uWebSockets.js is loaded: only a listed file with the expected hash. */
import { expect, it } from 'vitest'
import { NATIVE_BUILDS, type NativeBuild } from '../../../../../src/net/server/uws/builds.ts'
import { loadBuild, loadNative } from '../../../../../src/net/server/uws/native.ts'

const HERE = `${process.platform}_${process.arch}_${process.versions.modules}`
const OLDER = NATIVE_BUILDS.find(build => build.package === 'uWebSockets.js')!

const reasonOf = (build: NativeBuild, platform = HERE): string => {
  const loaded = loadBuild(build, platform)
  return 'native' in loaded ? 'loaded' : loaded.reason
}

it('does not load a file whose hash differs, and names it', () => {
  const platform = 'linux_x64_115'
  const changed = { ...OLDER, sha256: { [platform]: '0'.repeat(64) } }
  expect(reasonOf(changed, platform)).toMatch(
    /uws_linux_x64_115\.node .*does not have the expected SHA-256 digest/,
  )
})

it('says which platforms a build needs when this is not one of them', () => {
  expect(reasonOf(OLDER, 'linux_x64_999')).toBe(
    'uWebSockets.js has no build for linux_x64_999 (it needs Node 20)',
  )
})

it('says when a package is not installed', () => {
  const missing = { ...OLDER, package: 'no-such-package', sha256: { [HERE]: '0'.repeat(64) } }
  expect(reasonOf(missing)).toBe('no-such-package is not installed')
})

it('names the build that was loaded, or a reason for each that was not', () => {
  const loaded = loadNative()
  if ('native' in loaded)
    expect(NATIVE_BUILDS.map(build => `${build.package} ${HERE}`)).toContain(loaded.build)
  else expect(loaded.reason.split('; ').length).toBeGreaterThanOrEqual(NATIVE_BUILDS.length)
})
