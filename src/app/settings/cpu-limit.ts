/** Reads how much processor time the cgroups of this process allow (versions 1 and 2). */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * @param root of the file system; tests give another
 * @returns processors, such as 1.5; undefined without a limit, and on systems without cgroups
 */
export function readCpuLimit(root = '/'): number | undefined {
  const read = (path: string): string | undefined => {
    try {
      return readFileSync(join(root, path), 'utf8').trim()
    } catch {
      return undefined
    }
  }
  const limits: number[] = []
  for (const line of read('proc/self/cgroup')?.split('\n') ?? []) {
    const [, controllers = '', path = '/'] = /^\d+:([^:]*):(.*)$/.exec(line) ?? []
    if (controllers !== '' && !controllers.split(',').includes('cpu')) continue
    const base = controllers === '' ? 'sys/fs/cgroup' : `sys/fs/cgroup/${controllers}`
    const bases = controllers.includes(',') ? [base, 'sys/fs/cgroup/cpu'] : [base]
    // a limit of a parent holds too; in a container the path may be that of the host, so the top is read as well
    for (let folder = path; ; folder = dirname(folder)) {
      for (const one of bases) {
        const [quota, period] = read(join(one, folder, 'cpu.max'))?.split(' ') ?? [
          read(join(one, folder, 'cpu.cfs_quota_us')),
          read(join(one, folder, 'cpu.cfs_period_us')),
        ]
        // "max" and -1 stand for no limit
        if (Number(quota) > 0 && Number(period) > 0) limits.push(Number(quota) / Number(period))
      }
      if (folder === dirname(folder)) break
    }
  }
  return limits.length === 0 ? undefined : Math.min(...limits)
}
