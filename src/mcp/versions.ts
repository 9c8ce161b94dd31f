/** The supported MCP protocol versions, legacy and modern, and the negotiation of a legacy version. */

/** Oldest first; the strings are dates and compare as such. */
export const PROTOCOL_VERSIONS = [
  '2024-11-05',
  '2025-03-26',
  '2025-06-18',
  '2025-11-25',
  '2026-07-28',
] as const
export type ProtocolVersion = (typeof PROTOCOL_VERSIONS)[number]

/** Without sessions, one request per POST (MCP 2026-07-28). */
export const MODERN_VERSIONS: readonly ProtocolVersion[] = ['2026-07-28']
export const LEGACY_VERSIONS: readonly ProtocolVersion[] = PROTOCOL_VERSIONS.filter(
  version => !MODERN_VERSIONS.includes(version),
)
/** What a request without a version header is taken for (MCP 2025-06-18, transports, "Protocol Version Header"). */
export const ASSUMED_VERSION: ProtocolVersion = '2025-03-26'
export const LATEST_LEGACY: ProtocolVersion = '2025-11-25'

export function isLegacyVersion(text: string): text is ProtocolVersion {
  return (LEGACY_VERSIONS as readonly string[]).includes(text)
}

export function isModernVersion(text: string): text is ProtocolVersion {
  return (MODERN_VERSIONS as readonly string[]).includes(text)
}

/** The requested legacy version when we serve it, else the newest legacy one (every version, "Version Negotiation"). */
export function negotiate(requested: unknown): ProtocolVersion {
  return typeof requested === 'string' && isLegacyVersion(requested) ? requested : LATEST_LEGACY
}
