/** A source of a bundle that is a file; changes are detected by its metadata. It checks the size of the file, not its content. */
import { readFile, stat } from 'node:fs/promises'
import { BUNDLE_LIMITS } from '../bundle.ts'
import type { BundleSource } from './source.ts'

export function fileSource(path: string): BundleSource {
  let seen = ''
  return {
    name: path,
    async read() {
      const { mtimeMs, size, ino } = await stat(path)
      const state = `${mtimeMs} ${size} ${ino}`
      if (state === seen) return undefined
      if (size > BUNDLE_LIMITS.maxCompressedBytes)
        throw new Error(
          `${path} has ${size} bytes, more than the limit of ${BUNDLE_LIMITS.maxCompressedBytes}`,
        )
      const bundle = await readFile(path)
      seen = state
      return bundle
    },
  }
}
