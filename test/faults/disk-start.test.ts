/** A start on a disk that is full, nearly full or read-only ends and names the directory. */
import { execFileSync, spawnSync } from 'node:child_process'
import { statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { FREE_PORTS } from '../fixtures/free-ports.ts'
import { processEnv } from '../fixtures/process-env.ts'
import { mountSmallDisk, WITHOUT_MOUNT } from '../fixtures/small-disk.ts'

const REPOSITORY = join(import.meta.dirname, '../..')

/** Starts `toolgate serve` with DATA_DIR on a tmpfs that `prepare` has filled; the mount options apply after that. */
function startOn(
  options: string,
  prepare: (directory: string) => void,
): { code: number | null; text: string; directory: string } {
  const { directory, unmount } = mountSmallDisk(16)
  onTestFinished(unmount)
  prepare(directory)
  if (options !== '') execFileSync('mount', ['-o', `remount,${options}`, directory])
  const { status, stdout, stderr } = spawnSync(process.execPath, ['dist/cli/index.js', 'serve'], {
    cwd: REPOSITORY,
    env: {
      ...processEnv(),
      ...FREE_PORTS,
      DATA_DIR: directory,
      LOG_LEVEL: 'warn',
      WORKERS: '1',
    },
    encoding: 'utf8',
    timeout: 50_000,
  })
  return { code: status, text: stdout + stderr, directory }
}

function fill(directory: string, leftBytes: number): void {
  const { bavail, bsize } = statfsSync(directory)
  writeFileSync(join(directory, 'filler'), Buffer.alloc(bavail * bsize - leftBytes))
}

describe.skipIf(WITHOUT_MOUNT !== undefined)(
  `a start${WITHOUT_MOUNT === undefined ? '' : ` (skipped: ${WITHOUT_MOUNT})`}`,
  () => {
    test.each([0, 256 * 1024, 4 * 1024 * 1024])(
      'with %d free bytes: names the directory and the fix',
      left => {
        const { code, text, directory } = startOn('', mount => fill(mount, left))
        expect(text).toContain(`DATA_DIR (${directory}) is on a full file system. Free disk space`)
        expect(code).toBe(78)
      },
    )

    test('on a read-only file system: names the directory and the reason', () => {
      const { code, text, directory } = startOn('ro', () => {})
      expect(text).toContain(`DATA_DIR (${directory}) is on a read-only file system`)
      expect(code).toBe(78)
    })
  },
)
