/** Loads `oidc-provider`, and diverts its notices from the console to the log. */
import type { Log } from '../../telemetry/log.ts'

type Library = typeof import('oidc-provider')

/**
 * Runs `work` while notices of the library go to `log.debug`. The library writes them with the global console and offers no
 * other way; lines of other code pass through. The console is put back before this returns.
 */
export async function withoutBanners<T>(log: Log, work: () => Promise<T>): Promise<T> {
  const output = globalThis.console
  const { info, warn } = output
  const divert =
    (print: (...parts: unknown[]) => void) =>
    (...parts: unknown[]): void => {
      if (typeof parts[0] === 'string' && parts[0].includes('oidc-provider '))
        log.debug({ notice: parts[0] }, 'notice from the identity provider library')
      else print.apply(output, parts)
    }
  output.info = divert(info)
  output.warn = divert(warn)
  try {
    return await work()
  } finally {
    output.info = info
    output.warn = warn
  }
}

/** Loaded only when the embedded provider is wanted: production never pays for it. */
export async function loadLibrary(): Promise<Library> {
  // Node 20 before 20.20 lacks URL.parse, which the library calls.
  URL.parse ??= (text, base) => (URL.canParse(text, base) ? new URL(text, base) : null)
  return import('oidc-provider')
}
