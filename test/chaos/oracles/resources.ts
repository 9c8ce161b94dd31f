/** Memory and descriptors of each process over its lifetime, from /proc, and whether they grow; the CPU pressure of the machine. */
import { readdirSync, readFileSync } from 'node:fs'
import type { Member } from '../system.ts'

const SAMPLE_MS = 5_000
/** A young process fills its caches and its heap: this share of its lifetime is not judged. */
const WARM_SHARE = 0.3
/** Shorter spans say more about the garbage collector than about a leak. */
const MIN_SPAN_MS = 480_000
const MAX_MIB_PER_MINUTE = 2
const MAX_DESCRIPTORS_PER_MINUTE = 1

interface Sample {
  readonly atMs: number
  readonly rssMib: number
  readonly descriptors: number
}

interface Lifetime {
  readonly name: string
  readonly pid: number
  readonly samples: Sample[]
}

export interface LifetimeFigures {
  readonly name: string
  readonly minutes: number
  readonly rssMib: readonly [number, number]
  readonly descriptors: readonly [number, number]
  /** Absent for lifetimes that are too short to judge. */
  readonly mibPerMinute?: number
  readonly descriptorsPerMinute?: number
}

export class Resources {
  readonly #members: readonly Member[]
  readonly #lifetimes: Lifetime[] = []
  readonly #timer: NodeJS.Timeout

  constructor(members: readonly Member[]) {
    this.#members = members
    this.#timer = setInterval(() => this.#sample(), SAMPLE_MS)
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  figures(): { readonly findings: readonly string[]; readonly lifetimes: readonly LifetimeFigures[] } {
    const lifetimes = this.#lifetimes.filter(({ samples }) => samples.length > 1).map(figuresOf)
    const findings = lifetimes.flatMap(({ name, minutes, mibPerMinute = 0, descriptorsPerMinute = 0 }) => [
      ...(mibPerMinute > MAX_MIB_PER_MINUTE
        ? [`${name} grew by ${mibPerMinute} MiB a minute over ${minutes} minutes.`]
        : []),
      ...(descriptorsPerMinute > MAX_DESCRIPTORS_PER_MINUTE
        ? [`${name} opened ${descriptorsPerMinute} descriptors a minute over ${minutes} minutes.`]
        : []),
    ])
    return { findings, lifetimes }
  }

  #sample(): void {
    for (const { name, up, process } of this.#members) {
      if (!up || process.pid === undefined) continue
      const { pid } = process
      let lifetime = this.#lifetimes.find(one => one.pid === pid && one.name === name)
      if (lifetime === undefined) {
        lifetime = { name, pid, samples: [] }
        this.#lifetimes.push(lifetime)
      }
      try {
        const status = readFileSync(`/proc/${pid}/status`, 'utf8')
        lifetime.samples.push({
          atMs: performance.now(),
          rssMib: Number(/VmRSS:\s+(\d+) kB/.exec(status)![1]) / 1024,
          descriptors: readdirSync(`/proc/${pid}/fd`).length,
        })
      } catch {
        // it ended meanwhile
      }
    }
  }
}

/** Share of the time since it was created in which a process waited for a processor; 0 where the kernel does not measure it. */
export class Pressure {
  readonly #startedAt = performance.now()
  readonly #before = waitedMs()

  share(): number {
    return rounded((waitedMs() - this.#before) / (performance.now() - this.#startedAt))
  }
}

function waitedMs(): number {
  try {
    return Number(/^some .* total=(\d+)$/m.exec(readFileSync('/proc/pressure/cpu', 'utf8'))![1]) / 1000
  } catch {
    return 0
  }
}

function figuresOf({ name, samples }: Lifetime): LifetimeFigures {
  const first = samples[0]!
  const last = samples.at(-1)!
  const warmAtMs = first.atMs + WARM_SHARE * (last.atMs - first.atMs)
  const warm = samples.filter(({ atMs }) => atMs >= warmAtMs)
  const figures = {
    name,
    minutes: rounded((last.atMs - first.atMs) / 60_000),
    rssMib: [Math.round(first.rssMib), Math.round(last.rssMib)] as const,
    descriptors: [first.descriptors, last.descriptors] as const,
  }
  if (warm.length < 2 || last.atMs - warm[0]!.atMs < MIN_SPAN_MS) return figures
  return {
    ...figures,
    mibPerMinute: rounded(slope(warm, 'rssMib')),
    descriptorsPerMinute: rounded(slope(warm, 'descriptors')),
  }
}

/** Median of the slopes of all pairs (Theil and Sen), a minute: one garbage collection does not move it. */
function slope(samples: readonly Sample[], field: 'rssMib' | 'descriptors'): number {
  const slopes: number[] = []
  for (const [at, one] of samples.entries())
    for (const other of samples.slice(at + 1))
      slopes.push((60_000 * (other[field] - one[field])) / (other.atMs - one.atMs))
  slopes.sort((a, b) => a - b)
  return slopes[Math.floor(slopes.length / 2)]!
}

const rounded = (value: number): number => Math.round(value * 100) / 100
