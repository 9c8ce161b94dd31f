/** The processor limit of a cgroup, read from files as kernels write them, and the threads that WORKERS=auto makes of it. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { readCpuLimit } from '../../../../src/app/settings/cpu-limit.ts'
import { Reader } from '../../../../src/app/settings/reader.ts'
import { readWorkers } from '../../../../src/app/settings/workers.ts'

const made: string[] = []
afterEach(() => {
  for (const root of made.splice(0)) rmSync(root, { recursive: true })
})

function limitIn(files: Readonly<Record<string, string>>): number | undefined {
  const root = mkdtempSync(join(tmpdir(), 'toolgate-cgroup-'))
  made.push(root)
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), `${text}\n`)
  }
  return readCpuLimit(root)
}

it.each([
  ['version 2 in a container', { 'proc/self/cgroup': '0::/', 'sys/fs/cgroup/cpu.max': '150000 100000' }, 1.5],
  [
    'version 2 without a limit',
    { 'proc/self/cgroup': '0::/', 'sys/fs/cgroup/cpu.max': 'max 100000' },
    undefined,
  ],
  [
    'version 2 in a service, limited by its slice',
    {
      'proc/self/cgroup': '0::/app.slice/toolgate.service',
      'sys/fs/cgroup/app.slice/cpu.max': '200000 100000',
      'sys/fs/cgroup/app.slice/toolgate.service/cpu.max': 'max 100000',
    },
    2,
  ],
  [
    'version 1, with the path of the host',
    {
      'proc/self/cgroup': '4:memory:/docker/a\n3:cpu,cpuacct:/docker/a',
      'sys/fs/cgroup/cpu/cpu.cfs_quota_us': '50000',
      'sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000',
    },
    0.5,
  ],
  [
    'version 1 without a limit',
    {
      'proc/self/cgroup': '3:cpu:/',
      'sys/fs/cgroup/cpu/cpu.cfs_quota_us': '-1',
      'sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000',
    },
    undefined,
  ],
  ['a system without cgroups', {}, undefined],
])('%s', (_, files, limit) => {
  expect(limitIn(files as Readonly<Record<string, string>>)).toBe(limit)
})

it('WORKERS=auto rounds it up, within the processors', () => {
  const workers = (limit: number | undefined, processors: number) =>
    readWorkers(new Reader({ WORKERS: 'auto' }), limit, processors)
  expect([
    workers(0.5, 8),
    workers(1.5, 8),
    workers(3, 2),
    workers(undefined, 4),
    workers(undefined, 128),
  ]).toEqual([1, 2, 2, 4, 64])
})
