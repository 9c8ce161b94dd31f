/** Reads single values from an environment, or from the file that `NAME_FILE` names, and collects the faults. */
import { existsSync, readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { fileURLToPath } from 'node:url'
import { parseDurationMs } from '../../base/duration.ts'
import type { Renewable } from '../../net/tls/client-tls.ts'

export interface SettingFault {
  readonly name: string
  /** The rest of the sentence that begins with the name. */
  readonly reason: string
  readonly fix: string
}

const UNIT_BYTES: Readonly<Record<string, number>> = {
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
}

/** By the code of the error of the file system. */
const FILE_FIXES: Readonly<Record<string, string>> = {
  ENOENT: 'Correct the path, or create the file.',
  ENOTDIR: 'Correct the path.',
  EISDIR: 'Name a file: this is a folder.',
  EACCES: 'Give the user that runs this process read permission for the file and its folders.',
}

/** The folder of package.json; sources and build have the same depth. */
const PACKAGE = new URL('../../../', import.meta.url)

export class Reader {
  readonly faults: SettingFault[] = []
  /** Names that were asked for. */
  readonly known = new Set<string>()
  readonly #env: Readonly<Record<string, string | undefined>>

  constructor(env: Readonly<Record<string, string | undefined>>) {
    this.#env = env
  }

  fault(name: string, reason: string, fix: string): void {
    this.faults.push({ name, reason, fix })
  }

  /** The raw value, from the variable or from the file that `NAME_FILE` names. */
  #raw(name: string): string | undefined {
    this.known.add(name)
    const file = this.#env[`${name}_FILE`]
    if (file === undefined || file === '') return this.#env[name]
    if (this.#env[name] !== undefined) {
      this.fault(name, `and ${name}_FILE are both set.`, 'Unset one of the two.')
      return undefined
    }
    try {
      return readFileSync(file, 'utf8').trim()
    } catch (error) {
      // without the path: it may be a secret that was set in the wrong variable
      const { code = '' } = error as NodeJS.ErrnoException
      this.fault(
        `${name}_FILE`,
        `names a file that cannot be read (${code}).`,
        FILE_FIXES[code] ?? 'Check the file and its disk.',
      )
      return undefined
    }
  }

  text(name: string, fallback: string): string {
    const raw = this.#raw(name)
    return raw === undefined || raw === '' ? fallback : raw
  }

  /**
   * A path. Unset, it is `fallback`, or what the package has there if the working directory has nothing.
   * @param usesPackage false: only the working directory counts
   */
  path(name: string, fallback: string, usesPackage = true): string {
    const path = this.text(name, fallback)
    if (path !== fallback || !usesPackage || existsSync(fallback)) return path
    return fileURLToPath(new URL(fallback, PACKAGE))
  }

  optional(name: string): string | undefined {
    const raw = this.#raw(name)
    return raw === '' ? undefined : raw
  }

  /** A value that is read again from the file that `NAME_FILE` names whenever it is used. */
  renewable(name: string): Renewable | undefined {
    const text = this.optional(name)
    return text === undefined ? undefined : { text, file: this.#env[`${name}_FILE`] || undefined }
  }

  oneOf<const T extends string>(name: string, values: readonly T[], fallback: T): T {
    const raw = this.#raw(name)
    if (raw === undefined || raw === '') return fallback
    if ((values as readonly string[]).includes(raw)) return raw as T
    this.fault(name, `is "${raw}".`, `Use one of ${values.join(', ')}.`)
    return fallback
  }

  flag(name: string, fallback: boolean): boolean {
    const raw = this.#raw(name)?.toLowerCase()
    if (raw === undefined || raw === '') return fallback
    if (raw === 'true' || raw === '1') return true
    if (raw === 'false' || raw === '0') return false
    this.fault(name, `is "${raw}".`, 'Use true or false.')
    return fallback
  }

  integer(name: string, fallback: number, min: number, max: number): number {
    const raw = this.#raw(name)
    if (raw === undefined || raw === '') return fallback
    const value = Number(raw)
    if (/^\d+$/.test(raw) && value >= min && value <= max) return value
    this.fault(name, `is "${raw}".`, `Use a whole number from ${min} to ${max}.`)
    return fallback
  }

  /** 0 takes a free port. */
  port(name: string, fallback: number): number {
    return this.integer(name, fallback, 0, 65_535)
  }

  durationMs(name: string, fallback: string): number {
    const raw = this.#raw(name)
    const value = parseDurationMs(raw === undefined || raw === '' ? fallback : raw)
    if (value !== undefined) return value
    this.fault(name, `is "${raw}".`, 'Write a duration such as 500ms, 30s, 5m or 1h.')
    return parseDurationMs(fallback)!
  }

  /** A share from 0 to 1. */
  share(name: string, fallback: string): number {
    const raw = this.#raw(name)
    const text = raw === undefined || raw === '' ? fallback : raw
    const value = Number(text)
    if (!/^(0|1|[01]?\.\d{1,9})$/.test(text) || value > 1)
      this.fault(name, `is "${text}".`, 'Use a number from 0 to 1, such as 0.01.')
    return value
  }

  /** A size such as `512MiB`. */
  bytes(name: string, fallback: string, min: number): number {
    const raw = this.#raw(name)
    const text = raw === undefined || raw === '' ? fallback : raw
    const match = /^(\d{1,9})(KiB|MiB|GiB|TiB)$/.exec(text)
    const value = match === null ? 0 : Number(match[1]) * UNIT_BYTES[match[2]!]!
    if (value < min)
      this.fault(
        name,
        `is "${text}".`,
        `Write a size such as 512MiB or 1GiB, at least ${min < 2 ** 20 ? `${min / 2 ** 10}KiB` : `${min / 2 ** 20}MiB`}.`,
      )
    return value
  }

  /** An absolute URL without a trailing slash. @param schemes with their colon @param word may stand in its place */
  url(name: string, schemes: readonly string[] = ['http:', 'https:'], word?: string): string | undefined {
    const raw = this.#raw(name)
    if (raw === undefined || raw === '') return undefined
    if (raw === word) return word
    if (URL.canParse(raw) && schemes.includes(new URL(raw).protocol))
      return raw.replace(/^[^:]+/, scheme => scheme.toLowerCase()).replace(/\/+$/, '')
    this.fault(
      name,
      `is not an absolute URL that begins with ${schemes.map(scheme => `"${scheme}//"`).join(' or ')}.`,
      `Use a URL such as "${schemes.at(-1)}//host[:port][/path]".`,
    )
    return undefined
  }

  /** A comma list; set but empty means the empty list. */
  list(name: string, fallback: string): readonly string[] {
    return (this.#raw(name) ?? fallback)
      .split(',')
      .map(part => part.trim())
      .filter(part => part !== '')
  }
}

/** `10.0.0.0/8`, `::1`, `2001:db8::/32`. */
export function isCidr(text: string): boolean {
  const [address, prefix, ...rest] = text.split('/')
  const family = isIP(address!)
  if (family === 0 || rest.length > 0) return false
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128))
}

/** Without identity provider: only API keys are accepted, and the OAuth documents return 503. */
export const NO_PROVIDER = 'none'

/** @returns the address, `NO_PROVIDER`, or undefined when it is not set */
export function readIssuer(read: Reader): string | undefined {
  return read.url('AUTH_ISSUER', ['http:', 'https:'], NO_PROVIDER)
}
