/** The versions of MCP, what each of them has, and the negotiation of a version with a handshake: the only file that names a version. */

/** Oldest first; the strings are dates and compare as such. Positions are part of session ids that clients hold: append only. */
export const PROTOCOL_VERSIONS = [
  '2024-11-05',
  '2025-03-26',
  '2025-06-18',
  '2025-11-25',
  '2026-07-28',
] as const
export type ProtocolVersion = (typeof PROTOCOL_VERSIONS)[number]

/** Without handshake and sessions: each request stands alone. */
export const MODERN_VERSION: ProtocolVersion = '2026-07-28'
export const MODERN_VERSIONS: readonly ProtocolVersion[] = [MODERN_VERSION]
/** With a handshake. Oldest first. */
export const LEGACY_VERSIONS: readonly ProtocolVersion[] = PROTOCOL_VERSIONS.filter(
  version => !MODERN_VERSIONS.includes(version),
)
/** What a request without a version header is taken for (MCP 2025-06-18, transports, "Protocol Version Header"). */
export const ASSUMED_VERSION: ProtocolVersion = '2025-03-26'
export const LATEST_LEGACY: ProtocolVersion = '2025-11-25'
/** The version of the transport HTTP+SSE. */
export const STREAM_VERSION: ProtocolVersion = '2024-11-05'

interface Range {
  readonly from: ProtocolVersion
  /** The last one; absent: every later version has it. */
  readonly until?: ProtocolVersion
}

const FEATURES = {
  annotations: { from: '2025-03-26' },
  audio: { from: '2025-03-26' },
  /** Several messages in one body. */
  batches: { from: '2025-03-26', until: '2025-03-26' },
  /** A POST may be responded to with a stream, which can be resumed. */
  streamedResponses: { from: '2025-03-26' },
  elicitation: { from: '2025-06-18' },
  resourceLinks: { from: '2025-06-18' },
  /** `outputSchema` and `structuredContent`; objects only. */
  structuredOutput: { from: '2025-06-18' },
  /** `title`, and `_meta` of listed tools. */
  titles: { from: '2025-06-18' },
  /** Arguments that are not valid are an error result, which the model reads (tools, "Error Handling"). */
  argumentErrorResults: { from: '2025-11-25' },
  /** Icons, and description and website of a server. */
  icons: { from: '2025-11-25' },
  /** The first event of a stream has an id and no data. */
  primingEvents: { from: '2025-11-25' },
  /** JSON Schema 2020-12, and with it `$defs`: older clients follow no references. */
  schemaReferences: { from: '2025-11-25' },
  tasks: { from: '2025-11-25' },
  /** `tasks` as a capability and `execution` of tools: an extension takes their place. */
  coreTasks: { from: '2025-11-25', until: '2025-11-25' },
  /** Structured output of any type. */
  anyOutput: { from: '2026-07-28' },
} as const satisfies { readonly [feature: string]: Range }

export type Feature = keyof typeof FEATURES

export function hasFeature(version: ProtocolVersion, feature: Feature): boolean {
  const { from, until }: Range = FEATURES[feature]
  return version >= from && (until === undefined || version <= until)
}

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
